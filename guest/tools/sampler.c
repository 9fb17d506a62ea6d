// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends some of the kernel's figures at an interval, until SIGTERM:
 *
 *	sampler INTERVAL_MS VMSTAT_NAMES MEMORY_STAT_NAMES
 *
 * Names are separated by commas; an empty list is none. It runs outside the
 * cgroup under test, whose files it reads, and sends on a line of its own, so
 * that what it sends waits for nobody and nobody for it. Each line is one
 * {"event":"sample","clock_ns":N,"vmstat":{...},"memory.stat":{...},
 * "memory.current":BYTES,"memory.pressure":{...},
 * "generations":{"max_seq":N,"anon":[PAGES...],"file":[PAGES...]}}; generations
 * are those of the cgroup and of all below it, the youngest first.
 *
 * In virtual time it takes no time: after its start it reads no clock, which on
 * User Mode Linux would cost 256 ns, but goes by a timer. Nor does it stand in
 * the queue of the programs under test: its scheduling class is another.
 */
#include "lab.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define LINE "/dev/ttyS1"
#define LRU_GEN "/sys/kernel/debug/lru_gen"
#define CGROUP_ROOT "/sys/fs/cgroup"
/* MAX_NR_GENS of the kernel. */
#define NR_GENERATIONS 4
#define MAX_LINE 512

struct generation {
	unsigned long seq, anon, file;
};

struct sizes {
	unsigned long max_seq, anon[NR_GENERATIONS], file[NR_GENERATIONS];
};

/* Whether a cgroup's path, as the kernel names it, is the one under test or below it. */
static int is_under_test(const char *path)
{
	const char *cgroup = getenv("MGLRU_CGROUP");
	size_t length;

	cgroup = cgroup && *cgroup ? cgroup + strlen(CGROUP_ROOT) : "";
	length = strlen(cgroup);
	return !strncmp(path, cgroup, length) && (!path[length] || path[length] == '/');
}

/* Add the generations of one lruvec: they are counted from the youngest, which is the last. */
static void add_lruvec(struct sizes *sizes, const struct generation *found, int count)
{
	for (int age = 0; age < count; age++) {
		sizes->anon[age] += found[count - 1 - age].anon;
		sizes->file[age] += found[count - 1 - age].file;
	}
	if (count && found[count - 1].seq > sizes->max_seq)
		sizes->max_seq = found[count - 1].seq;
}

/*
 * The file has for each memcg "memcg ID PATH", for each of its nodes "node ID",
 * then a line "SEQ AGE_MS ANON FILE" for each generation, the oldest first.
 */
static void read_generations(struct sizes *sizes)
{
	struct generation found[NR_GENERATIONS], one;
	FILE *lines = fopen(LRU_GEN, "re");
	char line[MAX_LINE], path[MAX_LINE];
	int count = 0, wanted = 0;

	memset(sizes, 0, sizeof(*sizes));
	while (lines && fgets(line, sizeof(line), lines)) {
		if (sscanf(line, " %lu %*u %lu%*c %lu", &one.seq, &one.anon, &one.file) == 3) {
			if (wanted && count < NR_GENERATIONS)
				found[count++] = one;
			continue;
		}
		add_lruvec(sizes, found, count);
		count = 0;
		if (sscanf(line, "memcg %*u %511s", path) == 1)
			wanted = is_under_test(path);
	}
	add_lruvec(sizes, found, count);
	if (lines)
		fclose(lines);
}

/* Numbers as a JSON array. */
static const char *array(char *out, size_t size, const unsigned long *values)
{
	size_t used = 0;

	for (int i = 0; i < NR_GENERATIONS; i++)
		used += snprintf(out + used, size - used, "%c%lu", i ? ',' : '[', values[i]);
	snprintf(out + used, size - used, "]");
	return out;
}

static unsigned long long memory_current(void)
{
	char text[64] = "0";

	/* cgroup v1 has the other. */
	if (lab_read(lab_cgroup_file("memory.current"), text, sizeof(text)) < 0)
		lab_read(lab_cgroup_file("memory.usage_in_bytes"), text, sizeof(text));
	return strtoull(text, NULL, 10);
}

static void send_sample(uint64_t now, const char *vmstat_names, const char *stat_names)
{
	static char vmstat[LAB_OBJECT_SIZE], stat[LAB_OBJECT_SIZE];
	char pressure[128], anon[128], file[128];
	struct sizes sizes;

	lab_counters_object(vmstat, sizeof(vmstat), "/proc/vmstat", vmstat_names);
	strcpy(stat, "{}");
	/* To open it brings the kernel's own view of the cgroup up to date. */
	if (*stat_names)
		lab_counters_object(stat, sizeof(stat), lab_cgroup_file("memory.stat"), stat_names);
	lab_pressure_object(pressure, sizeof(pressure));
	read_generations(&sizes);
	lab_event("\"event\":\"sample\",\"clock_ns\":%llu,\"vmstat\":%s,\"memory.stat\":%s,"
		  "\"memory.current\":%llu,\"memory.pressure\":%s,"
		  "\"generations\":{\"max_seq\":%lu,\"anon\":%s,\"file\":%s}",
		  (unsigned long long)now, vmstat, stat, memory_current(), pressure, sizes.max_seq,
		  array(anon, sizeof(anon), sizes.anon), array(file, sizeof(file), sizes.file));
}

static struct timespec timespec_of(uint64_t nsec)
{
	return (struct timespec){ .tv_sec = nsec / NSEC_PER_SEC, .tv_nsec = nsec % NSEC_PER_SEC };
}

/* A descriptor that becomes readable at each interval from then on. */
static int start_timer(uint64_t then, uint64_t interval)
{
	const struct itimerspec times = {
		.it_value = timespec_of(then),
		.it_interval = timespec_of(interval),
	};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &times, NULL))
		lab_die("sampler: no timer");
	return timer;
}

/* Wait for the timer; how many intervals have passed, 0 if SIGTERM came instead. */
static uint64_t wait_for(int timer, int end)
{
	struct pollfd ready[] = { { .fd = end, .events = POLLIN }, { .fd = timer, .events = POLLIN } };
	uint64_t passed;

	while (poll(ready, 2, -1) < 0)
		;
	if (ready[0].revents || read(timer, &passed, sizeof(passed)) != sizeof(passed))
		return 0;
	return passed;
}

int main(int argc, char **argv)
{
	uint64_t interval, now, passed;
	sigset_t term;
	int timer, end;

	setenv("MGLRU_CHANNEL", LINE, 0);
	lab_open();
	errno = 0;
	if (argc != 4)
		lab_die("sampler: needs INTERVAL_MS VMSTAT_NAMES MEMORY_STAT_NAMES");
	interval = strtod(argv[1], NULL) * NSEC_PER_MSEC;
	if (!interval)
		lab_die("sampler: '%s' is no interval", argv[1]);
	/* Blocked, the signal cannot cut a line in two. */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	end = signalfd(-1, &term, SFD_CLOEXEC);
	if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }))
		lab_die("sampler: no priority");
	now = lab_now_ns();
	timer = start_timer(now + interval, interval);
	do {
		send_sample(now, argv[2], argv[3]);
		/* Where others kept it waiting, what was missed stays missed. */
		passed = wait_for(timer, end);
		now += passed * interval;
	} while (passed);
	return 0;
}
