// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does the n-th memory cgroup cost to create? Makes groups side by side in
 * one parent and times each mkdir(). Wants a machine with real time: the cost
 * is the processor's.
 *
 *	memcg_create [--groups N] [--window N] [--churn] [--seed N] [--parent DIR]
 *
 * Metrics: mkdir_us_at_125, _250, _500, ... up to --groups: the lowest decile
 * of the --window mkdir()s that end there, in microseconds (a decile, because on
 * a shared machine a mean is mostly interruptions, and under User Mode Linux,
 * where each system call waits for the host's scheduler, so is a median);
 * total_seconds of all of them.
 * With --churn a random half of the groups is removed in random order and made
 * again: rmdir_us, churn_mkdir_us (lowest deciles).
 */
#include "lab.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define MAX_GROUPS 1000000
#define FIRST_REPORT 125
#define DYING_POLL_NSEC (10 * 1000 * NSEC_PER_USEC)
#define DYING_POLLS 3000

struct options {
	long groups;
	long window;
	int churn;
	uint64_t seed;
	const char *parent;
};

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The lowest decile: what it costs when nothing interrupts. */
static double decile_us(const uint64_t *nsec, long count)
{
	uint64_t *sorted = malloc(count * sizeof(*sorted));
	double decile;

	if (!sorted)
		lab_die("no memory for %ld samples", count);
	memcpy(sorted, nsec, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_ns);
	decile = sorted[count / 10] / (double)NSEC_PER_USEC;
	free(sorted);
	return decile;
}

/* The parent of the cgroup under test: that has the memory controller enabled. */
static void default_parent(char *path, size_t size)
{
	const char *cgroup = getenv("MGLRU_CGROUP");
	char *slash;

	snprintf(path, size, "%s", cgroup && *cgroup ? cgroup : CGROUP_ROOT "/x");
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
}

/* A directory of our own, so that nothing else is among the groups. */
static void enter_parent(const char *parent)
{
	if (chdir(parent))
		lab_die("cannot enter %s", parent);
	if (mkdir("memcg-create", 0755))
		lab_die("cannot create %s/memcg-create", parent);
	if (chdir("memcg-create"))
		lab_die("cannot enter %s/memcg-create", parent);
	lab_write("cgroup.subtree_control", "+memory");
}

static uint64_t timed_mkdir(long group)
{
	char name[24];
	uint64_t begin;

	snprintf(name, sizeof(name), "%ld", group);
	begin = lab_now_ns();
	if (mkdir(name, 0755))
		lab_die("cannot create group %ld", group);
	return lab_now_ns() - begin;
}

static uint64_t timed_rmdir(long group)
{
	char name[24];
	uint64_t begin;

	snprintf(name, sizeof(name), "%ld", group);
	begin = lab_now_ns();
	if (rmdir(name))
		lab_die("cannot remove group %ld", group);
	return lab_now_ns() - begin;
}

static void report_windows(const struct options *options, const uint64_t *nsec)
{
	char name[48];

	for (long end = FIRST_REPORT; end <= options->groups; end *= 2) {
		long window = options->window < end ? options->window : end;

		snprintf(name, sizeof(name), "mkdir_us_at_%ld", end);
		lab_metric(name, decile_us(nsec + end - window, window));
	}
}

static void create_groups(const struct options *options, uint64_t *nsec)
{
	uint64_t total = 0;

	for (long i = 0; i < options->groups; i++) {
		nsec[i] = timed_mkdir(i);
		total += nsec[i];
	}
	report_windows(options, nsec);
	lab_metric("total_seconds", total / (double)NSEC_PER_SEC);
}

/* A removed group is gone only when its last reference is: that is done later. */
static long dying_groups(void)
{
	return lab_value("cgroup.stat", "nr_dying_descendants");
}

static long wait_for_dying(void)
{
	long dying = dying_groups();

	for (int i = 0; dying && i < DYING_POLLS; i++) {
		lab_sleep_ns(DYING_POLL_NSEC);
		dying = dying_groups();
	}
	return dying;
}

/* The first half of a random permutation of all groups (Fisher and Yates). */
static long *choose_half(const struct options *options)
{
	long *group = malloc(options->groups * sizeof(*group));
	uint64_t state = options->seed;

	if (!group)
		lab_die("no memory for %ld groups", options->groups);
	for (long i = 0; i < options->groups; i++)
		group[i] = i;
	for (long i = 0; i < options->groups / 2; i++) {
		long other = i + lab_random(&state) % (options->groups - i);
		long swap = group[i];

		group[i] = group[other];
		group[other] = swap;
	}
	return group;
}

static void churn(const struct options *options, uint64_t *nsec)
{
	long *group = choose_half(options);
	long half = options->groups / 2;

	for (long i = 0; i < half; i++)
		nsec[i] = timed_rmdir(group[i]);
	lab_metric("rmdir_us", decile_us(nsec, half));
	lab_metric("dying_groups", wait_for_dying());
	for (long i = 0; i < half; i++)
		nsec[i] = timed_mkdir(group[i]);
	lab_metric("churn_mkdir_us", decile_us(nsec, half));
	free(group);
}

static struct options parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "groups", required_argument, NULL, 'g' },
		{ "window", required_argument, NULL, 'w' },
		{ "churn", no_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "parent", required_argument, NULL, 'p' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .groups = 16000, .window = 500, .seed = 1 };
	int choice;

	while ((choice = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (choice == 'g')
			options.groups = lab_number(optarg, MAX_GROUPS);
		else if (choice == 'w')
			options.window = lab_number(optarg, MAX_GROUPS);
		else if (choice == 'c')
			options.churn = 1;
		else if (choice == 's')
			options.seed = lab_number(optarg, UINT64_MAX);
		else if (choice == 'p')
			options.parent = optarg;
		else
			lab_die("memcg_create: unknown option");
	}
	if (!options.groups || !options.window)
		lab_die("memcg_create: no groups");
	return options;
}

int main(int argc, char **argv)
{
	struct options options;
	char parent[512];
	uint64_t *nsec;

	lab_open();
	options = parse(argc, argv);
	nsec = calloc(options.groups, sizeof(*nsec));
	if (!nsec)
		lab_die("no memory for %ld samples", options.groups);
	default_parent(parent, sizeof(parent));
	enter_parent(options.parent ? options.parent : parent);

	lab_counters("begin");
	create_groups(&options, nsec);
	if (options.churn)
		churn(&options, nsec);
	lab_counters("end");
	free(nsec);
	return 0;
}
