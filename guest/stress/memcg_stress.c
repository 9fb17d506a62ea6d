// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do to memory cgroups all that can happen to them, from several processes at
 * once: create, nest, charge, protect, limit, reclaim (of a group and of the
 * whole machine), migrate, remove while charged, and switch the multi-gen LRU
 * off and on. Figures are not the aim: the kernel has to stay silent. Meant for
 * kernels that check themselves (kconfig/debug.config).
 *
 *	memcg_stress [--workers N] [--rounds N] [--seed N] [--files DIR]
 *		     [--file-mb N] [--parent DIR] [--no-toggle]
 *
 * Each worker is a process of its own with random numbers of its own, so that a
 * seed gives the same work again. Metrics: groups_created, groups_removed,
 * reclaims, reclaims_short (asked for more than there was), migrations, toggles,
 * workers_failed.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define LRU_GEN "/sys/kernel/mm/lru_gen/enabled"
#define MB (1UL << 20)
#define PAGE 4096UL
#define SLOTS 16
#define MAX_WORKERS 64
#define MAX_ROUNDS 1000000
#define MAX_MB 4096
#define REMOVE_TRIES 100
#define REMOVE_WAIT_NSEC (1000 * NSEC_PER_USEC)

/* Shared by all workers. */
struct totals {
	atomic_long created, removed, reclaims, reclaims_short, migrations, toggles;
};

struct options {
	long workers, rounds, file_mb;
	uint64_t seed;
	const char *files, *parent;
	int toggle;
};

/*
 * A worker's groups: in slot i is the group "i", perhaps with a child group "c"
 * that holds the processes instead (a group with children holds none).
 */
struct worker {
	const struct options *options;
	struct totals *totals;
	uint64_t random;
	int number;
	int present[SLOTS], nested[SLOTS];
	int file;
};

static uint64_t pick(struct worker *worker, uint64_t below)
{
	return lab_random(&worker->random) % below;
}

static void group_file(const struct worker *worker, int slot, const char *file, char *path,
		       size_t size)
{
	snprintf(path, size, "%d/%s%s", slot, worker->nested[slot] ? "c/" : "", file);
}

static void set_megabytes(const char *path, uint64_t megabytes)
{
	char value[24];

	snprintf(value, sizeof(value), "%lluM", (unsigned long long)megabytes);
	lab_write(path, value);
}

static void make_group(const char *path, struct totals *totals)
{
	if (mkdir(path, 0755))
		lab_die("cannot create group %s", path);
	totals->created++;
}

/* Limits below what is charged (see consume()), now and then protection. */
static void create(struct worker *worker, int slot)
{
	char path[64];

	snprintf(path, sizeof(path), "%d", slot);
	make_group(path, worker->totals);
	worker->nested[slot] = !pick(worker, 3);
	if (worker->nested[slot]) {
		snprintf(path, sizeof(path), "%d/cgroup.subtree_control", slot);
		lab_write(path, "+memory");
		snprintf(path, sizeof(path), "%d/c", slot);
		make_group(path, worker->totals);
	}
	snprintf(path, sizeof(path), "%d/memory.max", slot);
	set_megabytes(path, 6 + pick(worker, 8));
	snprintf(path, sizeof(path), "%d/memory.high", slot);
	set_megabytes(path, 3 + pick(worker, 4));
	if (!pick(worker, 3)) {
		snprintf(path, sizeof(path), "%d/memory.low", slot);
		set_megabytes(path, 1 + pick(worker, 4));
	} else if (!pick(worker, 4)) {
		snprintf(path, sizeof(path), "%d/memory.min", slot);
		set_megabytes(path, 1 + pick(worker, 2));
	}
	worker->present[slot] = 1;
}

/* Processes on their way out still hold the group for a moment. */
static void remove_group(const char *path, struct totals *totals)
{
	for (int i = 0; rmdir(path); i++) {
		if (errno != EBUSY || i == REMOVE_TRIES)
			lab_die("cannot remove group %s", path);
		lab_sleep_ns(REMOVE_WAIT_NSEC);
	}
	totals->removed++;
}

/* The group is removed with all its file pages still charged to it. */
static void destroy(struct worker *worker, int slot)
{
	char path[64];

	if (worker->nested[slot]) {
		snprintf(path, sizeof(path), "%d/c", slot);
		remove_group(path, worker->totals);
	}
	snprintf(path, sizeof(path), "%d", slot);
	remove_group(path, worker->totals);
	worker->present[slot] = 0;
}

static void touch_file(struct worker *worker)
{
	uint64_t pages = worker->options->file_mb * MB / PAGE;
	uint64_t page = pick(worker, pages), end = page + 256 + pick(worker, 2048);
	int dirty = !pick(worker, 3);
	char data[PAGE];

	memset(data, worker->number, sizeof(data));
	for (; page < end && page < pages; page++) {
		ssize_t done = dirty ? pwrite(worker->file, data, PAGE, page * PAGE) :
				       pread(worker->file, data, PAGE, page * PAGE);

		if (done < 0)
			lab_die("worker %d: file page %llu", worker->number,
				(unsigned long long)page);
	}
}

static void touch_memory(struct worker *worker)
{
	size_t size = (1 + pick(worker, 2)) * MB;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		lab_die("no memory");
	for (size_t i = 0; i < size; i += PAGE)
		memory[i] = 1;
	if (pick(worker, 2))
		madvise(memory, size, MADV_DONTNEED);
	munmap(memory, size);
}

static void map_file(struct worker *worker)
{
	size_t size = MB * (1 + pick(worker, 2));
	off_t at = pick(worker, worker->options->file_mb - 3) * MB;
	volatile char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, worker->file, at);

	if (map == MAP_FAILED)
		lab_die("cannot map the file");
	for (size_t i = 0; i < size; i += PAGE)
		(void)map[i];
	munmap((void *)map, size);
}

static void join(const struct worker *worker, int slot)
{
	char path[64];

	group_file(worker, slot, "cgroup.procs", path, sizeof(path));
	lab_write(path, "0");
	worker->totals->migrations++;
}

static int find_present(struct worker *worker)
{
	int start = pick(worker, SLOTS);

	for (int i = 0; i < SLOTS; i++)
		if (worker->present[(start + i) % SLOTS])
			return (start + i) % SLOTS;
	return -1;
}

/* A child works in one group, moves to another, works on, and is gone. */
static void consume(struct worker *worker, int slot)
{
	int other = find_present(worker), status;
	pid_t child = child_fork();

	if (!child) {
		join(worker, slot);
		touch_file(worker);
		touch_memory(worker);
		join(worker, other);
		map_file(worker);
		touch_memory(worker);
		_exit(0);
	}
	pick(worker, 1 + slot);	/* the next child shall do something else */
	status = child_wait(child);
	/* Killed for want of memory is a fair end in a group of 6 MB. */
	if (!WIFSIGNALED(status))
		child_check(status, "worker %d: a child", worker->number);
}

static void reclaim(struct worker *worker, const char *path)
{
	char value[24];

	snprintf(value, sizeof(value), "%lluK", (unsigned long long)(64 + pick(worker, 4096)));
	worker->totals->reclaims++;
	if (!lab_try_write(path, value))
		return;
	if (errno != EAGAIN && errno != EINTR)
		lab_die("cannot write %s to %s", value, path);
	worker->totals->reclaims_short++;
}

static void reclaim_group(struct worker *worker, int slot)
{
	char path[64];

	group_file(worker, slot, "memory.reclaim", path, sizeof(path));
	reclaim(worker, path);
}

static void toggle(struct worker *worker)
{
	static const char *const values[] = { "n", "y", "1" };

	/* Absent in a kernel without the multi-gen LRU. */
	if (worker->options->toggle && !lab_try_write(LRU_GEN, values[pick(worker, 3)]))
		worker->totals->toggles++;
}

static void one_round(struct worker *worker)
{
	int slot = pick(worker, SLOTS);

	if (!worker->present[slot])
		create(worker, slot);
	else if (!pick(worker, 3))
		destroy(worker, slot);
	slot = find_present(worker);
	if (slot < 0)
		return;
	consume(worker, slot);
	if (!pick(worker, 2))
		reclaim_group(worker, slot);
	/* The whole machine: this is what walks the list of groups. */
	if (!pick(worker, 2))
		reclaim(worker, CGROUP_ROOT "/memory.reclaim");
	if (!pick(worker, 16))
		toggle(worker);
}

static void open_file(struct worker *worker)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/stress-%d", worker->options->files, worker->number);
	worker->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (worker->file < 0 || ftruncate(worker->file, worker->options->file_mb * MB))
		lab_die("cannot create %s", path);
}

static void work(struct worker *worker)
{
	char name[24];

	snprintf(name, sizeof(name), "w%d", worker->number);
	if (mkdir(name, 0755) || chdir(name))
		lab_die("cannot create group %s", name);
	lab_write("cgroup.subtree_control", "+memory");
	open_file(worker);
	for (long round = 0; round < worker->options->rounds; round++)
		one_round(worker);
	for (int slot = 0; slot < SLOTS; slot++)
		if (worker->present[slot])
			destroy(worker, slot);
	exit(0);
}

static void enter_parent(const char *parent)
{
	if (chdir(parent))
		lab_die("cannot enter %s", parent);
	if ((mkdir("memcg-stress", 0755) && errno != EEXIST) || chdir("memcg-stress"))
		lab_die("cannot create %s/memcg-stress", parent);
	lab_write("cgroup.subtree_control", "+memory");
}

static int start_workers(const struct options *options, struct totals *totals)
{
	int failed = 0, status;

	for (int i = 0; i < options->workers; i++) {
		struct worker worker = {
			.options = options,
			.totals = totals,
			.random = options->seed * MAX_WORKERS + i,
			.number = i,
		};
		pid_t child = child_fork();

		if (!child)
			work(&worker);
	}
	while (wait(&status) > 0)
		failed += status != 0;
	return failed;
}

static void report(struct totals *totals)
{
	lab_metric("groups_created", totals->created);
	lab_metric("groups_removed", totals->removed);
	lab_metric("reclaims", totals->reclaims);
	lab_metric("reclaims_short", totals->reclaims_short);
	lab_metric("migrations", totals->migrations);
	lab_metric("toggles", totals->toggles);
}

static struct options parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "workers", required_argument, NULL, 'w' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "files", required_argument, NULL, 'f' },
		{ "file-mb", required_argument, NULL, 'm' },
		{ "parent", required_argument, NULL, 'p' },
		{ "no-toggle", no_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = {
		.workers = 4, .rounds = 200, .file_mb = 48, .seed = 1, .toggle = 1,
		.files = "/mnt/data", .parent = CGROUP_ROOT,
	};
	int choice;

	while ((choice = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (choice == 'w')
			options.workers = lab_number(optarg, MAX_WORKERS);
		else if (choice == 'r')
			options.rounds = lab_number(optarg, MAX_ROUNDS);
		else if (choice == 's')
			options.seed = lab_number(optarg, UINT64_MAX);
		else if (choice == 'f')
			options.files = optarg;
		else if (choice == 'm')
			options.file_mb = lab_number(optarg, MAX_MB);
		else if (choice == 'p')
			options.parent = optarg;
		else if (choice == 't')
			options.toggle = 0;
		else
			lab_die("memcg_stress: unknown option");
	}
	if (!options.workers || !options.rounds || options.file_mb < 8)
		lab_die("memcg_stress: a worker, a round and 8 MB at least");
	return options;
}

int main(int argc, char **argv)
{
	struct options options;
	struct totals *totals;
	int failed;

	lab_open();
	options = parse(argc, argv);
	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (totals == MAP_FAILED)
		lab_die("no memory");
	enter_parent(options.parent);

	lab_counters("begin");
	failed = start_workers(&options, totals);
	/* Leave the machine as it was found. */
	if (options.toggle)
		lab_try_write(LRU_GEN, "y");
	lab_counters("end");
	report(totals);
	lab_metric("workers_failed", failed);
	return failed != 0;
}
