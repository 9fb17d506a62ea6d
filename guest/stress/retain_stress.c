// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory cgroups with memory.retain that use the same files at once: read, map,
 * write, truncate, punch holes, drop, while cgroups are removed and made, limits
 * and the whole machine are reclaimed from, memory is compacted, and the
 * multi-gen LRU is switched off and on. The kernel has to stay silent, no page
 * may have other contents than were written to it, and no counter may keep
 * anything once the cache is dropped (for which the file system is unmounted: it
 * holds some of its metadata).
 *
 *	retain_stress [--workers N] [--rounds N] [--seconds N] [--seed N] [--files DIR]
 *		      [--file-mb N] [--truncate-mapped]
 *
 * With --seconds, no round begins after that many.
 *
 * The first file is mapped, the others are truncated. With --truncate-mapped all
 * are both: lockdep then complains about User Mode Linux, which walks the
 * mappings of another process to flush its TLB without a lock (flush_tlb_mm() in
 * arch/um/kernel/tlb.c).
 *
 * Metrics: groups_created, retained_pages and reused_pages (of all groups),
 * charged_peak_share (of the limit, the most that was seen), wrong_pages, and
 * what is left at the end, in pages, which has to be 0: left_file,
 * left_file_mapped, left_file_dirty, left_file_writeback, left_inactive_file,
 * left_active_file of all groups together; root_file_drift, by how much the
 * root's memory.stat differs from /proc/vmstat.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

#define PARENT "/sys/fs/cgroup/retain-stress"
#define LRU_GEN "/sys/kernel/mm/lru_gen/enabled"
#define MB (1UL << 20)
#define PAGE 4096UL
#define NR_FILES 3
#define MAX_WORKERS 64
#define ACTIONS 24
#define MAX_RANGE 1024
#define WAIT_TRIES 200
#define WAIT_NSEC NSEC_PER_MSEC

/* Shared by all processes. */
static struct totals {
	atomic_long created, wrong, peak_permille;
} *totals;

static struct options {
	long workers, rounds, seconds, file_mb;
	uint64_t seed;
	const char *files;
	int truncate_mapped;
} options = { .workers = 4, .rounds = 40, .file_mb = 24, .seed = 1, .files = "/mnt/data" };

static int files[NR_FILES];
static uint64_t state;
static sigjmp_buf beyond_the_end;

static uint64_t pick(uint64_t below)
{
	return lab_random(&state) % below;
}

/* What a page holds: its name, twice, or nothing at all after a truncation. */
static uint64_t page_name(int file, uint64_t page)
{
	return (page + 1) << 8 | (file + 1);
}

static void fill(char *data, int file, uint64_t page)
{
	uint64_t name = page_name(file, page);

	memset(data, 0, PAGE);
	memcpy(data, &name, sizeof(name));
	memcpy(data + PAGE - sizeof(name), &name, sizeof(name));
}

static void check(const volatile char *data, int file, uint64_t page)
{
	uint64_t first = *(const volatile uint64_t *)data;
	uint64_t last = *(const volatile uint64_t *)(data + PAGE - sizeof(last));
	uint64_t name = page_name(file, page);

	/* A writer and a truncation may be under way: each end counts alone. */
	if ((first && first != name) || (last && last != name))
		totals->wrong++;
}

struct range {
	int file;
	uint64_t begin, end;
};

static struct range pick_range(void)
{
	uint64_t pages = options.file_mb * MB / PAGE;
	struct range range = { .file = pick(NR_FILES), .begin = pick(pages) };

	range.end = range.begin + 1 + pick(MAX_RANGE);
	if (range.end > pages)
		range.end = pages;
	return range;
}

/* By read, or as somebody who does not want to wait. */
static void read_range(struct range range, int flags)
{
	static char data[8 * PAGE];
	struct iovec vector = { data, sizeof(data) };

	while (range.begin < range.end) {
		ssize_t got = preadv2(files[range.file], &vector, 1, range.begin * PAGE, flags);

		if (got <= 0)
			return;
		for (uint64_t i = 0; i < got / PAGE; i++)
			check(data + i * PAGE, range.file, range.begin + i);
		range.begin += got < (ssize_t)PAGE ? 1 : got / PAGE;
	}
}

static void write_range(struct range range)
{
	static char data[PAGE];

	for (; range.begin < range.end; range.begin++) {
		fill(data, range.file, range.begin);
		if (pwrite(files[range.file], data, PAGE, range.begin * PAGE) < 0)
			lab_die("retain_stress: cannot write");
	}
}

static void map_range(struct range range, int writes)
{
	size_t size = (range.end - range.begin) * PAGE;
	int protection = PROT_READ | (writes ? PROT_WRITE : 0);
	char *map;

	if (!options.truncate_mapped)
		range.file = 0;
	map = mmap(NULL, size, protection, MAP_SHARED, files[range.file], range.begin * PAGE);
	if (map == MAP_FAILED)
		lab_die("retain_stress: cannot map");
	if (!sigsetjmp(beyond_the_end, 1)) {
		for (uint64_t page = range.begin; page < range.end; page++) {
			char *data = map + (page - range.begin) * PAGE;

			check(data, range.file, page);
			if (writes)
				fill(data, range.file, page);
		}
	}
	munmap(map, size);
}

static int truncated_file(int file)
{
	return options.truncate_mapped ? file : 1 + file % (NR_FILES - 1);
}

static void truncate_file(struct range range)
{
	range.file = truncated_file(range.file);
	if (ftruncate(files[range.file], range.begin * PAGE) ||
	    ftruncate(files[range.file], options.file_mb * MB))
		lab_die("retain_stress: cannot truncate");
}

static void punch(struct range range)
{
	range.file = truncated_file(range.file);
	fallocate(files[range.file], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  range.begin * PAGE, (range.end - range.begin) * PAGE);
}

static void send_range(struct range range)
{
	off_t at = range.begin * PAGE;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (at < (off_t)(range.end * PAGE) &&
	       sendfile(null, files[range.file], &at, range.end * PAGE - at) > 0)
		;
	close(null);
}

static void drop(struct range range)
{
	posix_fadvise(files[range.file], range.begin * PAGE,
		      (range.end - range.begin) * PAGE, POSIX_FADV_DONTNEED);
}

static void touch_memory(void)
{
	size_t size = (1 + pick(2)) * MB;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		lab_die("retain_stress: no memory");
	for (size_t i = 0; i < size; i += PAGE)
		memory[i] = 1;
	munmap(memory, size);
}

static void act(void)
{
	struct range range = pick_range();

	switch (pick(16)) {
	case 0:
		return read_range(range, RWF_NOWAIT);
	case 1:
	case 2:
		return map_range(range, 0);
	case 3:
		return map_range(range, 1);
	case 4:
	case 5:
		return write_range(range);
	case 6:
		return pick(4) ? drop(range) : truncate_file(range);
	case 7:
		return punch(range);
	case 8:
		return send_range(range);
	case 9:
		fdatasync(files[range.file]);
		return;
	case 10:
		return touch_memory();
	default:
		return read_range(range, 0);
	}
}

static void on_sigbus(int signal)
{
	(void)signal;
	siglongjmp(beyond_the_end, 1);
}

static long number_in(const char *path)
{
	char text[64];

	return lab_read(path, text, sizeof(text)) < 0 ? 0 : atol(text);
}

/* The group's limit is on what it is charged, whatever is retained. */
static void check_limit(const char *group)
{
	char path[128];
	long charged, limit, permille, peak;

	snprintf(path, sizeof(path), "%s/memory.current", group);
	charged = number_in(path);
	snprintf(path, sizeof(path), "%s/memory.max", group);
	limit = number_in(path);
	permille = limit ? charged * 1000 / limit : 0;
	peak = totals->peak_permille;
	while (permille > peak &&
	       !atomic_compare_exchange_weak(&totals->peak_permille, &peak, permille))
		;
}

static void use_group(const char *group, uint64_t seed)
{
	struct sigaction action = { .sa_handler = on_sigbus };
	char path[128];

	state = seed;
	sigaction(SIGBUS, &action, NULL);
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	lab_write(path, "0");
	for (int i = 0; i < ACTIONS; i++) {
		act();
		check_limit(group);
	}
	_exit(0);
}

static void make_group(const char *group)
{
	char path[128], limit[24];

	if (mkdir(group, 0755))
		lab_die("cannot create group %s", group);
	totals->created++;
	snprintf(path, sizeof(path), "%s/memory.max", group);
	snprintf(limit, sizeof(limit), "%dM", (int)(4 + pick(8)));
	lab_write(path, limit);
	/* Whatever is inherited; some do without. */
	snprintf(path, sizeof(path), "%s/memory.retain", group);
	lab_try_write(path, pick(5) ? "1" : "0");
}

/* With what is charged to it, and what was. */
static void remove_group(const char *group)
{
	for (int i = 0; rmdir(group); i++) {
		if (errno != EBUSY || i == WAIT_TRIES)
			lab_die("cannot remove group %s", group);
		lab_sleep_ns(WAIT_NSEC);
	}
}

static void disturb(const char *group)
{
	static const char *const lru[] = { "n", "y", "1" };
	char path[128];

	switch (pick(12)) {
	case 0:
		lab_try_write(LRU_GEN, lru[pick(3)]);
		break;
	case 1:
		lab_try_write("/proc/sys/vm/compact_memory", "1");
		break;
	case 2:
	case 3:
	case 4:
		/* The whole machine: what is retained goes first. */
		lab_try_write("/sys/fs/cgroup/memory.reclaim", "4M");
		break;
	case 5:
		snprintf(path, sizeof(path), "%s/memory.reclaim", group);
		lab_try_write(path, "1M");
		break;
	case 6:
		lab_try_write("/proc/sys/vm/drop_caches", "1");
		break;
	case 7:
		/* Either the parent or the root group is given what is retained. */
		lab_try_write(PARENT "/memory.retain", pick(2) ? "1" : "0");
		break;
	default:
		break;
	}
}

static void work(int number)
{
	uint64_t end = lab_now_ns() + options.seconds * NSEC_PER_SEC;

	state = options.seed * MAX_WORKERS + number;
	for (long round = 0; round < options.rounds; round++) {
		char group[64];
		int status, children = 1 + pick(2);

		if (options.seconds && lab_now_ns() > end)
			break;
		snprintf(group, sizeof(group), PARENT "/w%d", number);
		make_group(group);
		for (int i = 0; i < children; i++) {
			uint64_t seed = lab_random(&state);
			pid_t child = child_fork();

			if (!child)
				use_group(group, seed);
		}
		disturb(group);
		/* Killed for want of memory is a fair end in a group of 4 MB. */
		while (wait(&status) > 0)
			if (!WIFSIGNALED(status))
				child_check(status, "retain_stress: a child");
		remove_group(group);
	}
	exit(0);
}

static void open_files(void)
{
	for (int i = 0; i < NR_FILES; i++) {
		struct range all = { i, 0, options.file_mb * MB / PAGE };
		char path[512];

		snprintf(path, sizeof(path), "%s/retain-%d", options.files, i);
		files[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (files[i] < 0 || ftruncate(files[i], options.file_mb * MB))
			lab_die("cannot create %s", path);
		write_range(all);
		fsync(files[i]);
	}
}

static void close_files(void)
{
	for (int i = 0; i < NR_FILES; i++)
		close(files[i]);
	if (umount(options.files))
		lab_die("cannot unmount %s", options.files);
}

static int start_workers(void)
{
	int failed = 0, status;

	for (int i = 0; i < options.workers; i++) {
		pid_t child = child_fork();

		if (!child)
			work(i);
	}
	while (wait(&status) > 0)
		failed += status != 0;
	return failed;
}

/* Dropped cache lets go of the removed groups, in the background. */
static void wait_for_the_dead(void)
{
	for (int i = 0; i < WAIT_TRIES; i++) {
		lab_try_write("/proc/sys/vm/drop_caches", "3");
		if (!lab_value(PARENT "/cgroup.stat", "nr_dying_descendants"))
			return;
		lab_sleep_ns(10 * WAIT_NSEC);
	}
}

/*
 * In pages. Both counters are brought up to date by what runs now and then: each
 * processor's part of the one, the flush of memcg statistics for the other.
 */
static long root_file_drift(void)
{
	long drift = 0;

	for (int i = 0; i < WAIT_TRIES; i++) {
		lab_try_write("/proc/sys/vm/stat_refresh", "1");
		drift = lab_value("/sys/fs/cgroup/memory.stat", "file") / (long)PAGE -
			lab_value("/proc/vmstat", "nr_file_pages");
		if (!drift)
			break;
		lab_sleep_ns(20 * WAIT_NSEC);
	}
	return drift;
}

static int report_rest(void)
{
	static const char *const names[] = {
		"file", "file_mapped", "file_dirty", "file_writeback", "inactive_file", "active_file",
	};
	int rest = 0;

	lab_metric("groups_left", lab_value(PARENT "/cgroup.stat", "nr_dying_descendants"));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		long left = lab_value(PARENT "/memory.stat", names[i]) / (long)PAGE;
		char metric[64];

		snprintf(metric, sizeof(metric), "left_%s", names[i]);
		lab_metric(metric, left);
		rest += left != 0;
	}
	lab_metric("root_file_drift", root_file_drift());
	return rest;
}

static void parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "workers", required_argument, NULL, 'w' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 'e' },
		{ "seed", required_argument, NULL, 's' },
		{ "files", required_argument, NULL, 'f' },
		{ "file-mb", required_argument, NULL, 'm' },
		{ "truncate-mapped", no_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	int choice;

	while ((choice = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (choice == 'w')
			options.workers = lab_number(optarg, MAX_WORKERS);
		else if (choice == 'r')
			options.rounds = lab_number(optarg, 1000000);
		else if (choice == 'e')
			options.seconds = lab_number(optarg, 1000000);
		else if (choice == 's')
			options.seed = lab_number(optarg, UINT64_MAX / MAX_WORKERS - 1);
		else if (choice == 'f')
			options.files = optarg;
		else if (choice == 'm')
			options.file_mb = lab_number(optarg, 65536);
		else if (choice == 't')
			options.truncate_mapped = 1;
		else
			lab_die("retain_stress: unknown option");
	}
	errno = 0;
	if (!options.workers || !options.file_mb)
		lab_die("retain_stress: at least one worker and 1 MB");
}

int main(int argc, char **argv)
{
	long retained, reused;
	int failed, rest;

	lab_open();
	parse(argc, argv);
	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (totals == MAP_FAILED)
		lab_die("no memory");
	/*
	 * Its own text: read in again on behalf of a group and then mapped here, it
	 * would stay charged to that group, after all else is dropped.
	 */
	if (mlockall(MCL_CURRENT))
		lab_die("cannot lock the program in memory");
	if (mkdir(PARENT, 0755))
		lab_die("cannot create " PARENT);
	lab_write(PARENT "/cgroup.subtree_control", "+memory");
	lab_try_write(PARENT "/memory.retain", "1");
	open_files();

	retained = lab_value("/proc/vmstat", "pgretain");
	reused = lab_value("/proc/vmstat", "pgretain_reuse");
	lab_counters("begin");
	failed = start_workers();
	lab_counters("end");
	lab_metric("retained_pages", lab_value("/proc/vmstat", "pgretain") - retained);
	lab_metric("reused_pages", lab_value("/proc/vmstat", "pgretain_reuse") - reused);
	/* Leave the machine as it was found. */
	lab_try_write(LRU_GEN, "y");
	close_files();
	wait_for_the_dead();
	rest = report_rest();
	lab_metric("groups_created", totals->created);
	lab_metric("charged_peak_share", totals->peak_permille / 1000.0);
	lab_metric("wrong_pages", totals->wrong);
	lab_metric("workers_failed", failed);
	return failed || rest || totals->wrong;
}
