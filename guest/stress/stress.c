// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do to memory all that can happen to it, from many processes at once: see the
 * tables of actions in stress_memory.c (a process's own), stress_files.c (page
 * cache), stress_groups.c (memory cgroups) and stress_machine.c (everybody's:
 * switches of the multi-gen LRU, swap, compaction), and stress_ng.c (another
 * program's). The kernel has to stay silent, no page may have other contents than were written to it, and at the
 * end the counters have to agree with each other (stress_check.c).
 *
 *	stress [--workers N] [--seconds N] [--seed N] [--files DIR] [--file-mb N]
 *		[--stress-ng PROGRAM|none]
 *
 * Each worker makes groups, one after another, each with up to three processes
 * that do what happens to occur to them; two more disturb the whole machine, and
 * one uses up its memory. A seed gives the same intentions, not the same
 * interleaving.
 *
 * Metrics: done_ACTION and failed_ACTION (the kernel refused) for every action;
 * actions, groups_created, groups_removed, children_killed (out of memory),
 * wrong_pages (by stress-ng's checks, too), stressors_failed (for whatever reason);
 * and what stress_check.c compares.
 */
#include "stress.h"

#include "child.h"
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORKERS 32
#define DISTURBERS 2
#define TELL_SECONDS 5
/* By then all have ended, or there is something to see. */
#define END_SECONDS 60

struct stress *stress;
struct stress_options options = {
	.workers = 4, .seconds = 60, .file_mb = 16, .seed = 1, .files = "/mnt/data", .nodes = 1,
};

static struct actions *const kinds[] = {
	&memory_actions, &file_actions, &group_actions, &machine_actions, &pressure_actions,
	&ng_actions,
};
#define NR_KINDS (sizeof(kinds) / sizeof(*kinds))

static pid_t started[MAX_WORKERS + DISTURBERS + 1];
static int nr_started;

static uint64_t state;

void pick_from(uint64_t seed)
{
	state = seed;
}

uint64_t pick(uint64_t below)
{
	return lab_random(&state) % below;
}

unsigned long pick_nodes(void)
{
	return 1 + pick((1UL << options.nodes) - 1);
}

void page_fill(char *data, uint64_t name)
{
	memset(data, 0, PAGE);
	memcpy(data, &name, sizeof(name));
	memcpy(data + PAGE - sizeof(name), &name, sizeof(name));
}

void page_check(const volatile char *data, uint64_t name, int may_be_zero)
{
	uint64_t first = *(const volatile uint64_t *)data;
	uint64_t last = *(const volatile uint64_t *)(data + PAGE - sizeof(last));

	/* Each end counts alone: a writer or a truncation may be under way. */
	if ((first == name || (may_be_zero && !first)) && (last == name || (may_be_zero && !last)))
		return;
	stress->wrong++;
	say("page %llx holds %llx and %llx", (unsigned long long)name, (unsigned long long)first,
	    (unsigned long long)last);
}

void say(const char *format, ...)
{
	char text[256], line[320];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* As a warning: the rest of what the kernel says is not worth its time. */
	snprintf(line, sizeof(line), "<4>stress: %s", text);
	lab_try_write("/dev/kmsg", line);
}

int try_write_in(const char *directory, const char *file, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	return lab_try_write(path, value);
}

static int count_actions(const struct action *all)
{
	int count = 0;

	while (all[count].name)
		count++;
	return count;
}

void act(const struct actions *actions)
{
	const struct action *all = actions->all;
	int total = 0, number = 0, drawn;

	for (const struct action *one = all; one->name; one++)
		total += one->weight;
	for (drawn = pick(total); drawn >= all[number].weight; number++)
		drawn -= all[number].weight;
	/* So that the kernel's reports tell who it was. */
	prctl(PR_SET_NAME, all[number].name);
	if (all[number].act())
		stress->failed[actions->first + number]++;
	else
		stress->done[actions->first + number]++;
}

static void share(void)
{
	int first = 0;

	stress = mmap(NULL, sizeof(*stress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (stress == MAP_FAILED)
		lab_die("no memory");
	/* It is memory, too, and has to be there when that is counted. */
	memset(stress, 0, sizeof(*stress));
	for (size_t i = 0; i < NR_KINDS; i++) {
		kinds[i]->first = first;
		first += count_actions(kinds[i]->all);
	}
	if (first > MAX_ACTIONS)
		lab_die("stress: more than %d actions", MAX_ACTIONS);
}

/* As the kernel writes them: "0", "0-1". */
static int count_nodes(void)
{
	char text[64], *dash;

	if (lab_read("/sys/devices/system/node/online", text, sizeof(text)) < 0)
		return 1;
	dash = strchr(text, '-');
	return 1 + atoi(dash ? dash + 1 : text);
}

static void disturb(int number)
{
	pick_from(options.seed * 1000 + 500 + number);
	while (!stress->stop) {
		act(&machine_actions);
		lab_sleep_ns((1 + pick(40)) * NSEC_PER_MSEC);
	}
	exit(0);
}

/* Apart from the former, because it takes long. */
static void press(int number)
{
	pick_from(options.seed * 1000 + 600 + number);
	while (!stress->stop) {
		act(&pressure_actions);
		lab_sleep_ns(pick(2000) * NSEC_PER_MSEC);
	}
	exit(0);
}

static void start(void (*work)(int), int number)
{
	pid_t child = child_fork();

	if (child) {
		started[nr_started++] = child;
		return;
	}
	work(number);
	exit(0);
}

static long sum(const atomic_long *counts)
{
	long all = 0;

	for (int i = 0; i < MAX_ACTIONS; i++)
		all += counts[i];
	return all;
}

static void tell(uint64_t begin)
{
	say("%llu of %ld s, %ld actions, %ld groups, %ld killed, %ld wrong",
	    (unsigned long long)((lab_now_ns() - begin) / NSEC_PER_SEC), options.seconds,
	    sum(stress->done), (long)stress->created, (long)stress->killed, (long)stress->wrong);
}

/* Where all processes are, and what runs on each processor. */
static void tell_who_is_left(void)
{
	say("not over %d s after the end", END_SECONDS);
	lab_try_write("/proc/sysrq-trigger", "t");
	lab_try_write("/proc/sysrq-trigger", "l");
}

/* Not somebody's child whose parent was killed. */
static int is_own(pid_t child)
{
	for (int i = 0; i < nr_started; i++)
		if (started[i] == child)
			return 1;
	return 0;
}

/* Whatever happens to the others, until the time is over. */
static int wait_for_end(void)
{
	uint64_t begin = lab_now_ns(), told = begin, end = 0;
	int failed = 0, status;
	pid_t gone;

	while ((gone = waitpid(-1, &status, WNOHANG)) >= 0) {
		uint64_t now = lab_now_ns();

		failed += gone > 0 && status && is_own(gone);
		if (!end && (now - begin > options.seconds * NSEC_PER_SEC || failed)) {
			stress->stop = 1;
			end = now;
		}
		if (end && now - end > END_SECONDS * NSEC_PER_SEC) {
			tell_who_is_left();
			end = now;
		}
		if (now - told > TELL_SECONDS * NSEC_PER_SEC) {
			tell(begin);
			told = now;
		}
		if (!gone)
			lab_sleep_ns(100 * NSEC_PER_MSEC);
	}
	tell(begin);
	return failed;
}

static void report_actions(void)
{
	char name[64];

	for (size_t kind = 0; kind < NR_KINDS; kind++) {
		const struct action *one = kinds[kind]->all;

		for (int i = kinds[kind]->first; one->name; i++, one++) {
			snprintf(name, sizeof(name), "done_%s", one->name);
			lab_metric(name, stress->done[i]);
			snprintf(name, sizeof(name), "failed_%s", one->name);
			lab_metric(name, stress->failed[i]);
		}
	}
	lab_metric("actions", sum(stress->done));
	lab_metric("actions_refused", sum(stress->failed));
	lab_metric("groups_created", stress->created);
	lab_metric("groups_removed", stress->removed);
	lab_metric("children_killed", stress->killed);
	lab_metric("children_with_faults", stress->faulty);
	lab_metric("wrong_pages", stress->wrong);
	lab_metric("stressors_failed", stress->failures);
}

static void parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "workers", required_argument, NULL, 'w' },
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ "files", required_argument, NULL, 'f' },
		{ "file-mb", required_argument, NULL, 'm' },
		{ "stress-ng", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	int choice;

	while ((choice = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (choice == 'w')
			options.workers = lab_number(optarg, MAX_WORKERS);
		else if (choice == 't')
			options.seconds = lab_number(optarg, 1000000);
		else if (choice == 's')
			options.seed = lab_number(optarg, UINT32_MAX);
		else if (choice == 'f')
			options.files = optarg;
		else if (choice == 'm')
			options.file_mb = lab_number(optarg, 4096);
		else if (choice == 'n')
			options.stress_ng = strcmp(optarg, "none") ? optarg : NULL;
		else
			lab_die("stress: unknown option");
	}
	if (options.stress_ng && access(options.stress_ng, X_OK))
		lab_die("cannot run %s", options.stress_ng);
	errno = 0;
	if (!options.workers || !options.seconds || options.file_mb < 4)
		lab_die("stress: at least one worker, one second and 4 MB");
}

int main(int argc, char **argv)
{
	int failed, wrong;

	lab_open();
	/* Or its text, read in again on behalf of a group, stays charged to that group. */
	if (mlockall(MCL_CURRENT))
		lab_die("cannot lock the program in memory");
	parse(argc, argv);
	options.nodes = count_nodes();
	share();
	machine_start();
	groups_start();
	files_open();
	check_start();

	/* Who is dead but not waited for keeps its group. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	lab_counters("begin");
	for (int i = 0; i < options.workers; i++)
		start(groups_work, i);
	for (int i = 0; i < DISTURBERS; i++)
		start(disturb, i);
	start(press, 0);
	failed = wait_for_end();
	lab_counters("end");

	machine_restore();
	ng_stop();
	files_close();
	wrong = check_end();
	groups_stop();
	report_actions();
	lab_metric("nodes", options.nodes);
	lab_metric("workers_failed", failed);
	return failed || wrong || stress->wrong;
}
