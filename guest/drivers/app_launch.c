// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts programs one after another, round after round, and measures how long
 * each takes to come up:
 *
 *	app_launch --root DIR --rounds N --warmup N --pause-ms N --apps LINES
 *
 * Each line of LINES is "CPU_MS COMMAND": a shell command that does what the
 * program does at its start and ends, and the processor's time that this
 * takes, which virtual time leaves out. It runs with DIR as its root. A start
 * lasts from the fork to the program's end and the processor's time after it.
 * The programs run in the cgroup under test. Rounds of the warm-up do not
 * count.
 *
 * Metrics: start_mean_ms, start_p50_ms, start_p90_ms, start_p95_ms.
 */
#include "lab.h"
#include "child.h"
#include "latency.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_APPS 64
/* An hour in ms, and more rounds than anybody waits for. */
#define MAX_MS 3600000
#define MAX_ROUNDS 100000

static struct app {
	const char *command;
	uint64_t cpu_ns;
} apps[MAX_APPS];
static int nr_apps;

static const char *root;
static unsigned int rounds, warmup;
static uint64_t pause_ns;

static void parse_apps(char *lines)
{
	char *line, *command;

	while ((line = strsep(&lines, "\n"))) {
		line += strspn(line, " ");
		if (!*line)
			continue;
		command = strchr(line, ' ');
		errno = 0;
		if (!command || nr_apps == MAX_APPS)
			lab_die("app_launch: not CPU_MS COMMAND, or too many: '%s'", line);
		*command++ = '\0';
		apps[nr_apps].cpu_ns = lab_number(line, MAX_MS) * NSEC_PER_MSEC;
		apps[nr_apps++].command = command;
	}
}

/* In the child: becomes the program, in the cgroup under test. */
static void run_app(const struct app *app)
{
	int null;

	lab_join();
	if (chroot(root) || chdir("/tmp"))
		lab_die("app_launch: cannot enter %s", root);
	null = open("/dev/null", O_RDWR);
	if (null < 0)
		lab_die("app_launch: cannot open /dev/null in %s", root);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	child_become_shell("-c", app->command);
}

/* Returns how long the start took, in ns. */
static uint64_t start(const struct app *app)
{
	uint64_t begin = lab_now_ns();
	pid_t child = child_fork();

	if (!child)
		run_app(app);
	child_check(child_wait(child), "app_launch: '%s'", app->command);
	lab_sleep_ns(app->cpu_ns);
	return lab_now_ns() - begin;
}

/* Without starts, nothing is noted. */
static void run_rounds(unsigned int nr, struct latencies *starts)
{
	for (unsigned int i = 0; i < nr * nr_apps; i++) {
		uint64_t nsec = start(apps + i % nr_apps);

		if (starts)
			latencies_add(starts, nsec);
		lab_sleep_ns(pause_ns);
	}
}

static void report(struct latencies *starts)
{
	static const unsigned int percents[] = { 50, 90, 95 };
	char name[32];
	double sum = 0;

	latencies_report(starts, "start");
	for (size_t i = 0; i < starts->count; i++)
		sum += starts->us[i];
	lab_metric("start_mean_ms", sum / starts->count / 1000);
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
		snprintf(name, sizeof(name), "start_p%u_ms", percents[i]);
		lab_metric(name, latencies_percentile(starts, percents[i]) / 1000.0);
	}
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "root", required_argument, NULL, 'r' },
		{ "rounds", required_argument, NULL, 'n' },
		{ "warmup", required_argument, NULL, 'w' },
		{ "pause-ms", required_argument, NULL, 'p' },
		{ "apps", required_argument, NULL, 'a' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'r': root = optarg; break;
		case 'n': rounds = lab_number(optarg, MAX_ROUNDS); break;
		case 'w': warmup = lab_number(optarg, MAX_ROUNDS); break;
		case 'p': pause_ns = lab_number(optarg, MAX_MS) * NSEC_PER_MSEC; break;
		case 'a': parse_apps(optarg); break;
		default: errno = 0; lab_die("app_launch: unknown option");
		}
	}
	errno = 0;
	if (optind < argc)
		lab_die("app_launch: '%s' is no option", argv[optind]);
	if (!root || !rounds || !nr_apps)
		lab_die("app_launch: needs --root, --rounds and --apps");
}

int main(int argc, char **argv)
{
	struct latencies starts;

	lab_open();
	parse(argc, argv);
	latencies_init(&starts, (size_t)rounds * nr_apps);
	run_rounds(warmup, NULL);
	lab_counters("begin");
	run_rounds(rounds, &starts);
	lab_counters("end");
	report(&starts);
	return 0;
}
