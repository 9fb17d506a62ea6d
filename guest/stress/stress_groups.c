// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stress of memory cgroups: a worker makes a group with limits below what its
 * processes take, some with memory.retain, some with a group inside, changes
 * what can be changed while they run, and removes it with all that is charged.
 */
#include "stress.h"

#include "child.h"
#include "lab.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 3
#define CHILD_ACTIONS 40
#define INNER "/inner"
/* For stress-ng and its libraries, beside what its stressors take. */
#define PROGRAM_MB 24
#define KILL_TRIES 200
#define REMOVE_TRIES 60000

/* The worker's present group, and where its processes are. */
static char group[96], home[112];
static struct child {
	pid_t pid;
	/* Its allocations fail. */
	int faults;
} children[CHILDREN];
static int nr_children;
/* What the group has beside its few megabytes: its processes run programs. */
static int room;

static int set_megabytes(const char *directory, const char *file, uint64_t megabytes)
{
	char value[24];

	snprintf(value, sizeof(value), "%lluM", (unsigned long long)megabytes);
	return try_write_in(directory, file, value);
}

static int limit(void)
{
	return set_megabytes(group, "memory.max", room + 3 + pick(12));
}

static int throttle(void)
{
	/* Far above it every page fault takes two seconds. */
	if (pick(2))
		return try_write_in(group, "memory.high", "max");
	return set_megabytes(group, "memory.high", room + 4 + pick(12));
}

static int protect(void)
{
	return set_megabytes(group, pick(3) ? "memory.low" : "memory.min", pick(6));
}

static int limit_swap(void)
{
	if (pick(2))
		return try_write_in(group, "memory.swap.max", "max");
	return set_megabytes(group, "memory.swap.max", pick(8));
}

static int retain(void)
{
	return try_write_in(group, "memory.retain", pick(2) ? "1" : "0");
}

/* The group's memory moves along. */
static int move_to_nodes(void)
{
	static const char *const nodes[] = { "0", "1", "0-1", "" };

	return try_write_in(group, "cpuset.mems", nodes[options.nodes > 1 ? pick(4) : 0]);
}

static int reclaim(void)
{
	static const char *const how[] = {
		"1M", "256K", "4M swappiness=200", "2M swappiness=0", "1M swappiness=60", "64M",
	};

	return try_write_in(pick(3) ? group : home, "memory.reclaim", how[pick(6)]);
}

static int read_statistics(void)
{
	static const char *const files[] = {
		"memory.stat", "memory.numa_stat", "memory.events", "memory.pressure",
	};
	static char text[32768];
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", pick(2) ? group : home, files[pick(4)]);
	return lab_read(path, text, sizeof(text)) < 0 ? -1 : 0;
}

/* One of the processes goes on in somebody else's group, if that is still there. */
static int move_child(void)
{
	char path[160], number[24];

	if (!nr_children)
		return 0;
	snprintf(path, sizeof(path), STRESS_GROUP "/w%d/cgroup.procs", (int)pick(options.workers));
	snprintf(number, sizeof(number), "%d", (int)children[pick(nr_children)].pid);
	return lab_try_write(path, number);
}

static int kill_child(void)
{
	if (!nr_children)
		return 0;
	return kill(children[pick(nr_children)].pid, SIGKILL);
}

static const struct action all[] = {
	{ "memory_max", limit, 12 },
	{ "memory_high", throttle, 9 },
	{ "memory_low", protect, 6 },
	{ "swap_max", limit_swap, 4 },
	{ "memory_retain", retain, 8 },
	{ "cpuset_mems", move_to_nodes, 12 },
	{ "reclaim_group", reclaim, 24 },
	{ "read_statistics", read_statistics, 12 },
	{ "move_process", move_child, 12 },
	{ "kill_process", kill_child, 1 },
	{ NULL, NULL, 0 },
};

struct actions group_actions = { all, 0 };

static void make_group(int number)
{
	snprintf(group, sizeof(group), STRESS_GROUP "/w%d", number);
	snprintf(home, sizeof(home), "%s", group);
	if (mkdir(group, 0755))
		lab_die("cannot create group %s", group);
	stress->created++;
	room = options.stress_ng && pick(2) ? PROGRAM_MB : 0;
	limit();
	if (pick(2))
		retain();
	if (!pick(3))
		protect();
	if (!pick(3))
		throttle();
	if (pick(3))
		return;
	try_write_in(group, "cgroup.subtree_control", "+memory");
	snprintf(home, sizeof(home), "%s" INNER, group);
	if (mkdir(home, 0755))
		lab_die("cannot create group %s", home);
	stress->created++;
	set_megabytes(home, "memory.max", room + 2 + pick(8));
}

static void use_group(uint64_t seed, int faults)
{
	int actions;

	pick_from(seed);
	/* Before it can be short of memory: else nobody could be killed. */
	lab_try_write("/proc/self/oom_score_adj", "500");
	try_write_in(home, "cgroup.procs", "0");
	memory_start();
	/* Only debug kernels have it. */
	if (faults && !lab_try_write("/proc/self/make-it-fail", "1"))
		stress->faulty++;
	/* Takes as long as many of the others. */
	if (room && !faults)
		act(&ng_actions);
	actions = 1 + pick(CHILD_ACTIONS);
	for (int i = 0; i < actions && !stress->stop; i++)
		/* A file system whose allocations fail would have errors of its own. */
		act(faults || pick(2) ? &memory_actions : &file_actions);
	if (faults)
		lab_try_write("/proc/self/make-it-fail", "0");
	_exit(0);
}

static void start_children(void)
{
	int wanted = 1 + pick(CHILDREN);

	for (nr_children = 0; nr_children < wanted; nr_children++) {
		struct child *child = children + nr_children;
		uint64_t seed = pick(UINT64_MAX);

		child->faults = !pick(6);
		child->pid = child_fork();
		if (!child->pid)
			use_group(seed, child->faults);
	}
}

static struct child forget(pid_t pid)
{
	struct child child;
	int i = 0;

	while (children[i].pid != pid)
		i++;
	child = children[i];
	children[i] = children[--nr_children];
	return child;
}

/*
 * Killed by somebody, or for want of memory, is fair in a group of 3 MB. Where
 * allocations fail the kernel sends SIGSEGV, too: when it cannot write to a page
 * that it has to, as for restartable sequences.
 */
static int fair_end(struct child child, int status)
{
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	return !status || signal == SIGKILL || (signal == SIGSEGV && child.faults);
}

/* Disturb the group for as long as it has processes. */
static void watch_children(void)
{
	int status;
	pid_t gone;

	while ((gone = waitpid(-1, &status, WNOHANG)) >= 0) {
		if (!gone) {
			/* They may be in the middle of something that takes minutes. */
			for (int i = 0; i < nr_children && stress->stop; i++)
				kill(children[i].pid, SIGKILL);
			act(&group_actions);
			lab_sleep_ns(pick(60) * NSEC_PER_MSEC);
			continue;
		}
		stress->killed += status != 0;
		if (!fair_end(forget(gone), status))
			child_check(status, "stress: a process");
	}
}

/* Others' processes may have come into it. */
static void remove_group(const char *path)
{
	for (int i = 0; rmdir(path); i++) {
		if (errno != EBUSY || i == REMOVE_TRIES)
			lab_die("cannot remove group %s", path);
		if (i >= KILL_TRIES)
			try_write_in(path, "cgroup.kill", "1");
		lab_sleep_ns(NSEC_PER_MSEC);
	}
	stress->removed++;
}

void groups_work(int number)
{
	pick_from(options.seed * 1000 + number);
	while (!stress->stop) {
		make_group(number);
		start_children();
		watch_children();
		if (strcmp(home, group))
			remove_group(home);
		remove_group(group);
	}
	exit(0);
}

void groups_start(void)
{
	lab_try_write(CGROUPS "/cgroup.subtree_control", "+cpuset");
	if (mkdir(STRESS_GROUP, 0755))
		lab_die("cannot create " STRESS_GROUP);
	lab_write(STRESS_GROUP "/cgroup.subtree_control", "+memory");
	lab_try_write(STRESS_GROUP "/cgroup.subtree_control", "+cpuset");
}

void groups_stop(void)
{
	if (rmdir(STRESS_GROUP))
		lab_die("cannot remove " STRESS_GROUP);
}
