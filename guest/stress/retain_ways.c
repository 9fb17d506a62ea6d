// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ways to retained page cache (memory.retain) that cat and the stress do not take.
 *
 *	retain_ways uring FILE	reads it through io_uring, as whoever starts the program
 *	retain_ways folios	how large the folios of the root group's page cache are
 *	retain_ways large FILE	writes the file in pieces of 4 MB, so that folios become as
 *				large as the file system has them; then groups with limits
 *				about as small as a folio use it
 *	retain_ways poison FILE	writes it so, and has some of what is retained fail
 *
 * The group under test ($MGLRU_CGROUP) has the limit and the switch; but for `uring`
 * the program stays outside, and has children for it. What cannot be done at all ends
 * the program; the metrics say what the rest did. Metrics are pages if not said
 * otherwise.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/kernel-page-flags.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"

#define ROOT "/sys/fs/cgroup"
#define VMSTAT "/proc/vmstat"
#define PAGE 4096UL
#define KB (1UL << 10)
#define MB (1UL << 20)
#define CHUNK (64 * KB)
#define LARGE_FILE (64 * MB)
#define WRITE_SIZE (4 * MB)
#define DEPTH 16
#define POISON_EVERY 64
#define TRIES 500
#define WAIT_NSEC (10 * NSEC_PER_MSEC)
#define STAT_AGE_NSEC (2200 * NSEC_PER_MSEC)
#define FLAG(bit) (1ULL << (bit))

static char *path_of(const char *group, const char *file)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return path;
}

static long number_in(const char *group, const char *file)
{
	char text[64];

	if (lab_read(path_of(group, file), text, sizeof(text)) < 0)
		lab_die("cannot read %s", path_of(group, file));
	return atol(text);
}

/* What the root group was given by groups with a limit, at most. */
static long retained(void)
{
	return lab_value(ROOT "/memory.stat", "retained") / (long)PAGE;
}

static const char *tested_group(void)
{
	const char *group = getenv("MGLRU_CGROUP");

	errno = 0;
	if (!group || !*group)
		lab_die("retain_ways: no group");
	return group;
}

static int open_file(const char *path, int flags)
{
	int file = open(path, flags | O_CLOEXEC, 0644);

	if (file < 0)
		lab_die("cannot open %s", path);
	return file;
}

static size_t size_of(int file)
{
	struct stat status;

	if (fstat(file, &status))
		lab_die("cannot read the size of a file");
	return status.st_size;
}

/* Whether the whole file can be read, written, or mapped: what a child does, and exits with. */
typedef int (*use_fn)(const char *path);

static int use_read(const char *path)
{
	static char data[CHUNK];
	int file = open_file(path, O_RDONLY);
	ssize_t got;

	while ((got = read(file, data, sizeof(data))) > 0)
		;
	return got < 0;
}

static int use_rewrite(const char *path)
{
	static char data[CHUNK];
	int file = open_file(path, O_RDWR);

	for (size_t at = 0, size = size_of(file); at < size; at += sizeof(data))
		if (pwrite(file, data, sizeof(data), at) < 0)
			return 1;
	return fsync(file) != 0;
}

static int use_create(const char *path)
{
	char *data = calloc(1, WRITE_SIZE);
	int file = open_file(path, O_RDWR | O_CREAT | O_TRUNC);

	if (!data)
		return 1;
	for (size_t at = 0; at < LARGE_FILE; at += WRITE_SIZE)
		if (pwrite(file, data, WRITE_SIZE, at) != (ssize_t)WRITE_SIZE)
			return 1;
	return fsync(file) != 0;
}

static int use_map(const char *path)
{
	int file = open_file(path, O_RDONLY);
	size_t size = size_of(file);
	volatile char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);

	if (map == MAP_FAILED)
		return 1;
	for (size_t at = 0; at < size; at += PAGE)
		(void)map[at];
	return 0;
}

/* One byte in the middle, which reads nothing ahead. */
static int use_taste(const char *path)
{
	int file = open_file(path, O_RDONLY);
	char byte;

	posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
	return pread(file, &byte, 1, LARGE_FILE / 2) != 1;
}

/* Do it in a group, and return whether that went wrong. */
static int use_in(const char *group, use_fn use, const char *path)
{
	pid_t child = child_fork();

	if (!child) {
		lab_write(path_of(group, "cgroup.procs"), "0");
		_exit(use(path));
	}
	return child_wait(child) != 0;
}

/* ---- io_uring */

struct ring {
	int fd;
	_Atomic unsigned *sq_tail, *cq_head, *cq_tail;
	unsigned sq_mask, cq_mask;
	unsigned *sq_array;
	struct io_uring_sqe *entries;
	struct io_uring_cqe *completions;
};

static void *map_ring(int fd, size_t size, off_t what)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, what);

	if (map == MAP_FAILED)
		lab_die("cannot map an io_uring");
	return map;
}

static struct ring make_ring(void)
{
	struct io_uring_params p = { 0 };
	struct ring ring = { .fd = syscall(SYS_io_uring_setup, DEPTH, &p) };
	char *sq, *cq;

	if (ring.fd < 0)
		lab_die("no io_uring");
	sq = map_ring(ring.fd, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	cq = map_ring(ring.fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	ring.entries = map_ring(ring.fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	ring.sq_tail = (void *)(sq + p.sq_off.tail);
	ring.sq_mask = *(unsigned *)(sq + p.sq_off.ring_mask);
	ring.sq_array = (void *)(sq + p.sq_off.array);
	ring.cq_head = (void *)(cq + p.cq_off.head);
	ring.cq_tail = (void *)(cq + p.cq_off.tail);
	ring.cq_mask = *(unsigned *)(cq + p.cq_off.ring_mask);
	ring.completions = (void *)(cq + p.cq_off.cqes);
	return ring;
}

static void queue_read(struct ring *ring, int file, char *data, size_t at)
{
	unsigned tail = *ring->sq_tail, slot = tail & ring->sq_mask;

	ring->entries[slot] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = file, .off = at,
		.addr = (uintptr_t)data, .len = CHUNK,
	};
	ring->sq_array[slot] = slot;
	atomic_store(ring->sq_tail, tail + 1);
}

/* DEPTH reads at a time; returns the bytes that came. */
static size_t read_batch(struct ring *ring, int file, char *data, size_t at, size_t size)
{
	unsigned nr = 0, head;
	size_t got = 0;

	for (; nr < DEPTH && at + nr * CHUNK < size; nr++)
		queue_read(ring, file, data + nr * CHUNK, at + nr * CHUNK);
	if (syscall(SYS_io_uring_enter, ring->fd, nr, nr, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		lab_die("cannot read through io_uring");
	for (head = *ring->cq_head; head != atomic_load(ring->cq_tail); head++) {
		int result = ring->completions[head & ring->cq_mask].res;

		errno = -result;
		if (result < 0)
			lab_die("a read of io_uring failed");
		got += result;
	}
	atomic_store(ring->cq_head, head);
	return got;
}

static int uring(const char *path)
{
	int file = open_file(path, O_RDONLY);
	size_t size = size_of(file), got = 0;
	struct ring ring = make_ring();
	char *data = malloc(DEPTH * CHUNK);

	if (!data)
		lab_die("no memory");
	for (size_t at = 0; at < size; at += DEPTH * CHUNK)
		got += read_batch(&ring, file, data, at, size);
	lab_metric("uring_bytes_missing", size - got);
	return got != size;
}

/* ---- what the pages of the root group are like */

static int is_unmapped_cache(uint64_t flags)
{
	const uint64_t other = FLAG(KPF_ANON) | FLAG(KPF_MMAP) | FLAG(KPF_SLAB) | FLAG(KPF_BUDDY) |
			       FLAG(KPF_SWAPBACKED) | FLAG(KPF_COMPOUND_TAIL);

	return (flags & FLAG(KPF_LRU)) && !(flags & other);
}

/* What is told of a folio: its first page's frame number, and how many pages it has. */
typedef void (*folio_fn)(uint64_t pfn, long pages);

/* All folios of page cache that are the root group's and are not mapped: nearly all retained. */
static void for_each_folio(folio_fn see)
{
	static uint64_t flags[MB / 8], groups[MB / 8];
	int flags_file = open_file("/proc/kpageflags", O_RDONLY);
	int groups_file = open_file("/proc/kpagecgroup", O_RDONLY);
	uint64_t pfn = 0, first = 0;
	struct stat root;
	long pages = 0;
	ssize_t got;

	if (stat(ROOT, &root))
		lab_die("no " ROOT);
	while ((got = read(flags_file, flags, sizeof(flags))) > 0 &&
	       read(groups_file, groups, got) == got) {
		for (ssize_t i = 0; i < got / 8; i++, pfn++) {
			if (flags[i] & FLAG(KPF_COMPOUND_TAIL)) {
				pages += pages != 0;
				continue;
			}
			if (pages)
				see(first, pages);
			pages = is_unmapped_cache(flags[i]) && groups[i] == root.st_ino;
			first = pfn;
		}
	}
	if (pages)
		see(first, pages);
	close(flags_file);
	close(groups_file);
}

static struct {
	long folios, large, large_pages, largest;
} cache;

static void count_folio(uint64_t pfn, long pages)
{
	(void)pfn;
	cache.folios++;
	if (pages > 1) {
		cache.large++;
		cache.large_pages += pages;
	}
	if (pages > cache.largest)
		cache.largest = pages;
}

static void report_folios(void)
{
	for_each_folio(count_folio);
	lab_metric("root_folios", cache.folios);
	lab_metric("root_large_folios", cache.large);
	lab_metric("root_large_pages", cache.large_pages);
	lab_metric("root_largest_pages", cache.largest);
	lab_metric("root_retained", retained());
}

/* ---- memory that fails */

/* Make all of it retained again, or nearly all. */
static void fill(const char *path)
{
	lab_write("/proc/sys/vm/drop_caches", "1");
	if (use_in(tested_group(), use_create, path) || use_in(tested_group(), use_read, path))
		lab_die("cannot write and read %s", path);
}

static struct {
	int corrupt;
	long seen, folios, pages, refused;
} poison;

static void poison_folio(uint64_t pfn, long pages)
{
	if (poison.seen++ % POISON_EVERY)
		return;
	/* Somewhere in the folio. */
	if (dprintf(poison.corrupt, "%#lx\n", (unsigned long)(pfn + pages / 2)) < 0) {
		poison.refused++;
		return;
	}
	poison.folios++;
	poison.pages += pages;
}

/* Some of the retained pages fail (debugfs, CONFIG_HWPOISON_INJECT). The rest has to be as it was. */
static int fail_memory(const char *path)
{
	long before, reused;
	int failed;

	fill(path);
	before = retained();
	poison.corrupt = open_file("/sys/kernel/debug/hwpoison/corrupt-pfn", O_WRONLY);
	for_each_folio(poison_folio);
	close(poison.corrupt);
	lab_metric("poisoned_folios", poison.folios);
	lab_metric("poisoned_pages", poison.pages);
	lab_metric("poison_refused", poison.refused);
	lab_metric("poison_retained_less", before - retained());
	lab_metric("hardware_corrupted", lab_value("/proc/meminfo", "HardwareCorrupted:") * KB / PAGE);
	reused = lab_value(VMSTAT, "pgretain_reuse");
	before = retained();
	failed = use_in(tested_group(), use_read, path);
	lab_metric("poison_reused", lab_value(VMSTAT, "pgretain_reuse") - reused);
	lab_write("/proc/sys/vm/drop_caches", "1");
	lab_metric("poison_left", retained());
	return failed;
}

/* ---- large folios and small groups */

static const char *make_group(const char *name, const char *limit)
{
	static char group[256];

	snprintf(group, sizeof(group), ROOT "/%s", name);
	if (mkdir(group, 0755))
		lab_die("cannot create group %s", group);
	lab_write(path_of(group, "memory.max"), limit);
	return group;
}

static void report(const char *who, const char *what, double value)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", who, what);
	lab_metric(name, value);
}

/* The whole file in a group of its own: how often it was charged, and how much at most. */
static int use_by(const char *who, const char *limit, use_fn use, const char *path)
{
	const char *group = make_group(who, limit);
	long reused = lab_value(VMSTAT, "pgretain_reuse"), before = retained();
	uint64_t begin = lab_now_ns();
	int failed = use_in(group, use, path);

	report(who, "failed", failed);
	report(who, "seconds", (lab_now_ns() - begin) / (double)NSEC_PER_SEC);
	report(who, "reused", lab_value(VMSTAT, "pgretain_reuse") - reused);
	report(who, "taken", before - retained());
	report(who, "charged", number_in(group, "memory.current") / PAGE);
	report(who, "peak", number_in(group, "memory.peak") / PAGE);
	report(who, "killed", lab_value(path_of(group, "memory.events"), "oom_kill"));
	return failed;
}

static int large(const char *path)
{
	int failed = 0;

	fill(path);
	report_folios();
	failed += use_by("taste", "8M", use_taste, path);
	failed += use_by("reader", "8M", use_read, path);
	fill(path);
	failed += use_by("small_reader", "1M", use_read, path);
	fill(path);
	failed += use_by("small_mapper", "1M", use_map, path);
	fill(path);
	failed += use_by("small_writer", "1M", use_rewrite, path);
	return failed;
}

int main(int argc, char **argv)
{
	/* From outside of the group, so that they say when to count. */
	static const struct {
		const char *name;
		int (*go)(const char *path);
	} ways[] = { { "large", large }, { "poison", fail_memory } };
	const char *way = argc > 1 ? argv[1] : "", *path = argc > 2 ? argv[2] : NULL;
	int failed;

	lab_open();
	if (!strcmp(way, "folios")) {
		report_folios();
		return 0;
	}
	if (!strcmp(way, "uring") && path)
		return uring(path);
	for (size_t i = 0; path && i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(way, ways[i].name))
			continue;
		/*
		 * Its own text: read in on behalf of a group and then mapped here, it
		 * would stay charged to that group.
		 */
		if (mlockall(MCL_CURRENT))
			lab_die("cannot lock the program in memory");
		lab_counters("begin");
		failed = ways[i].go(path);
		lab_counters("end");
		return failed;
	}
	errno = 0;
	lab_die("retain_ways: uring, large or poison and a file, or folios");
}
