// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stress of a process's own memory: anonymous, and shared memory of its own,
 * both with pages that have names, so that what comes back from swap, from
 * another node or out of a huge page is seen to be what went there.
 */
#include "stress.h"

#include "child.h"
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGES 1024UL
#define HUGE (2 * MB)
#define MOST_NODES 64

/* An advice that some C libraries do not know. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum content { ZERO, NAMED, EITHER };

static struct region {
	char *data;
	/* Of shared memory, else -1. */
	int file;
	char content[PAGES];
} regions[2];

static struct part {
	struct region *region;
	size_t first, count;
} part;

static char *part_data(void)
{
	return part.region->data + part.first * PAGE;
}

static size_t part_size(void)
{
	return part.count * PAGE;
}

static void pick_part(void)
{
	part.region = regions + pick(2);
	part.first = pick(PAGES);
	part.count = 1 + pick(pick(8) ? 32 : PAGES);
	if (part.first + part.count > PAGES)
		part.count = PAGES - part.first;
}

static uint64_t name_of(size_t page)
{
	return (uint64_t)(part.region - regions + 1) << 32 | (page + 1);
}

static void note(enum content content)
{
	memset(part.region->content + part.first, content, part.count);
}

static int write_part(void)
{
	for (size_t page = part.first; page < part.first + part.count; page++)
		page_fill(part.region->data + page * PAGE, name_of(page));
	note(NAMED);
	return 0;
}

static int write_some(void)
{
	pick_part();
	return write_part();
}

static void check_part(void)
{
	for (size_t page = part.first; page < part.first + part.count; page++) {
		enum content content = part.region->content[page];

		page_check(part.region->data + page * PAGE,
			   content == ZERO ? 0 : name_of(page), content == EITHER);
	}
}

static int read_some(void)
{
	pick_part();
	check_part();
	return 0;
}

static int advise(int advice)
{
	pick_part();
	return madvise(part_data(), part_size(), advice);
}

#define ADVICE(name, advice)				\
	static int name(void)				\
	{						\
		return advise(advice);			\
	}

ADVICE(cold, MADV_COLD)
ADVICE(page_out, MADV_PAGEOUT)
ADVICE(will_need, MADV_WILLNEED)
ADVICE(populate_read, MADV_POPULATE_READ)
ADVICE(populate_write, MADV_POPULATE_WRITE)
ADVICE(huge, MADV_HUGEPAGE)
ADVICE(not_huge, MADV_NOHUGEPAGE)

/* Needs as much as a huge page has. */
static int collapse(void)
{
	pick_part();
	return madvise(part.region->data, PAGES * PAGE, MADV_COLLAPSE);
}

static int dont_need(void)
{
	int done = advise(MADV_DONTNEED);

	/* Of shared memory only the mappings are gone. Locked memory is refused half way. */
	if (part.region->file < 0)
		note(done ? EITHER : ZERO);
	return done;
}

/* As soon as the kernel likes, and until it is written again. */
static int free_some(void)
{
	int done = advise(MADV_FREE);

	if (part.region->file < 0)
		for (size_t page = part.first; page < part.first + part.count; page++)
			if (part.region->content[page] == NAMED)
				part.region->content[page] = EITHER;
	return done;
}

static int lock_some(void)
{
	pick_part();
	return mlock(part_data(), part_size());
}

static int lock_on_fault(void)
{
	pick_part();
	return syscall(SYS_mlock2, part_data(), part_size(), MLOCK_ONFAULT);
}

static int unlock(void)
{
	pick_part();
	/* Mostly all of it: what is locked can neither be swapped nor thrown away. */
	if (pick(4))
		return munlock(part.region->data, PAGES * PAGE);
	return munlock(part_data(), part_size());
}

static int protect(void)
{
	pick_part();
	if (mprotect(part_data(), part_size(), PROT_READ))
		return -1;
	check_part();
	return mprotect(part_data(), part_size(), PROT_READ | PROT_WRITE);
}

/* Away and back again; an empty mapping keeps the place. */
static int move_mapping(void)
{
	char *away, *back;

	pick_part();
	away = mremap(part_data(), part_size(), part_size(), MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	if (away == MAP_FAILED)
		return -1;
	back = mremap(away, part_size(), part_size(), MREMAP_MAYMOVE | MREMAP_FIXED, part_data());
	if (back == MAP_FAILED) {
		/* For want of memory; what was there, and of that all or nothing, is lost. */
		munmap(away, part_size());
		if (part.region->file < 0)
			note(EITHER);
		return -1;
	}
	check_part();
	return 0;
}

/* A copy that is written to on both sides; the child's part is gone at once. */
static int copy_on_write(void)
{
	pid_t child;

	pick_part();
	child = fork();
	if (child < 0)
		return -1;
	if (!child) {
		check_part();
		if (part.region->file < 0 && pick(2))
			write_part();
		_exit(0);
	}
	if (part.region->file < 0 && pick(2))
		write_part();
	child_wait(child);
	check_part();
	return 0;
}

static int bind_part(void)
{
	static const int modes[] = { MPOL_DEFAULT, MPOL_BIND, MPOL_PREFERRED, MPOL_INTERLEAVE };
	int mode = modes[pick(4)];
	unsigned long nodes = mode == MPOL_DEFAULT ? 0 : pick_nodes();

	pick_part();
	return syscall(SYS_mbind, part_data(), part_size(), mode, nodes ? &nodes : NULL,
		       MOST_NODES, MPOL_MF_MOVE) < 0 ? -1 : 0;
}

static int prefer_nodes(void)
{
	static const int modes[] = { MPOL_DEFAULT, MPOL_BIND, MPOL_PREFERRED, MPOL_INTERLEAVE };
	int mode = modes[pick(4)];
	unsigned long nodes = mode == MPOL_DEFAULT ? 0 : pick_nodes();

	return syscall(SYS_set_mempolicy, mode, nodes ? &nodes : NULL, MOST_NODES) < 0 ? -1 : 0;
}

static int move_pages_of(void)
{
	static void *pages[PAGES];
	static int nodes[PAGES], status[PAGES];

	pick_part();
	for (size_t i = 0; i < part.count; i++) {
		pages[i] = part_data() + i * PAGE;
		nodes[i] = pick(options.nodes);
	}
	return syscall(SYS_move_pages, 0, part.count, pages, nodes, status, MPOL_MF_MOVE) < 0 ?
		       -1 : 0;
}

static int migrate_all(void)
{
	unsigned long from = 1UL << pick(options.nodes), to = 1UL << pick(options.nodes);

	return syscall(SYS_migrate_pages, 0, MOST_NODES, &from, &to) < 0 ? -1 : 0;
}

/* The shared part loses pages, whoever maps them. */
static int punch_shared(void)
{
	pick_part();
	part.region = regions + 1;
	if (fallocate(part.region->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      part.first * PAGE, part_size()))
		return -1;
	note(ZERO);
	return 0;
}

/*
 * To nothing: stock 6.12.117 cannot truncate to the middle of a huge page that is
 * swapped out and cannot be read in (docs/lab/stress.md). It goes on trying for ever.
 */
static int truncate_shared(void)
{
	part.region = regions + 1;
	if (ftruncate(part.region->file, 0) || ftruncate(part.region->file, PAGES * PAGE))
		return -1;
	part.first = 0;
	part.count = PAGES;
	note(ZERO);
	return 0;
}

static int read_all_of(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	if (fd < 0)
		return -1;
	while ((got = read(fd, text, sizeof(text))) > 0)
		;
	close(fd);
	return got < 0 ? -1 : 0;
}

/* What looks at the accessed bits and at the flags of folios. */
static int look(void)
{
	static const char *const files[] = {
		"/proc/self/smaps", "/proc/self/smaps_rollup", "/proc/self/numa_maps",
	};
	static uint64_t entries[PAGES];
	int fd, done;

	if (pick(2))
		return read_all_of(files[pick(3)]);
	pick_part();
	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	done = pread(fd, entries, part.count * sizeof(*entries),
		     (uintptr_t)part_data() / PAGE * sizeof(*entries)) < 0;
	close(fd);
	return -done;
}

static int clear_references(void)
{
	static const char *const what[] = { "1", "2", "3" };

	return lab_try_write("/proc/self/clear_refs", what[pick(3)]);
}

/* Pages that a pipe holds, while all goes on with them. */
static int hold_in_pipe(void)
{
	static char copy[16 * PAGE];
	struct iovec vector;
	ssize_t held;
	int ends[2];

	pick_part();
	if (part.count > 16)
		part.count = 16;
	vector = (struct iovec){ part_data(), part_size() };
	if (pipe(ends))
		return -1;
	held = vmsplice(ends[1], &vector, 1, SPLICE_F_NONBLOCK);
	madvise(part_data(), part_size(), MADV_PAGEOUT);
	for (ssize_t got = 0; held > 0; held -= got) {
		got = read(ends[0], copy, sizeof(copy));
		if (got <= 0)
			break;
	}
	close(ends[0]);
	close(ends[1]);
	return held < 0 ? -1 : 0;
}

static int read_as_stranger(void)
{
	static char copy[64 * PAGE];
	struct iovec from, to = { copy, sizeof(copy) };

	pick_part();
	from = (struct iovec){ part_data(), part_size() };
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 ? -1 : 0;
}

/* Memory that lives for a moment, often as huge pages of which some are given back. */
static int passing_memory(void)
{
	size_t size = (1 + pick(2)) * HUGE;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	if (pick(2))
		madvise(memory, size, MADV_HUGEPAGE);
	for (size_t at = 0; at < size; at += PAGE)
		memory[at] = 1;
	madvise(memory + pick(size / PAGE) * PAGE, PAGE, MADV_DONTNEED);
	if (pick(2))
		madvise(memory, size, MADV_PAGEOUT);
	munmap(memory, size);
	return 0;
}

void memory_start(void)
{
	for (int i = 0; i < 2; i++) {
		int file = i ? memfd_create("stress", MFD_CLOEXEC) : -1;
		int kind = i ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

		if (i && (file < 0 || ftruncate(file, PAGES * PAGE)))
			lab_die("stress: no shared memory");
		regions[i] = (struct region){
			.data = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, kind, file, 0),
			.file = file,
		};
		if (regions[i].data == MAP_FAILED)
			lab_die("stress: no memory");
	}
}

static const struct action all[] = {
	{ "write_memory", write_some, 12 },
	{ "read_memory", read_some, 12 },
	{ "madvise_cold", cold, 3 },
	{ "madvise_pageout", page_out, 5 },
	{ "madvise_willneed", will_need, 2 },
	{ "madvise_populate_read", populate_read, 2 },
	{ "madvise_populate_write", populate_write, 1 },
	{ "madvise_hugepage", huge, 2 },
	{ "madvise_nohugepage", not_huge, 1 },
	{ "madvise_collapse", collapse, 1 },
	{ "madvise_dontneed", dont_need, 2 },
	{ "madvise_free", free_some, 3 },
	{ "mlock", lock_some, 2 },
	{ "mlock_onfault", lock_on_fault, 1 },
	{ "munlock", unlock, 4 },
	{ "mprotect", protect, 1 },
	{ "mremap", move_mapping, 1 },
	{ "copy_on_write", copy_on_write, 2 },
	{ "mbind", bind_part, 3 },
	{ "set_mempolicy", prefer_nodes, 1 },
	{ "move_pages", move_pages_of, 3 },
	{ "migrate_pages", migrate_all, 1 },
	{ "punch_shared", punch_shared, 1 },
	{ "truncate_shared", truncate_shared, 1 },
	{ "look", look, 1 },
	{ "clear_refs", clear_references, 1 },
	{ "hold_in_pipe", hold_in_pipe, 2 },
	{ "read_as_stranger", read_as_stranger, 1 },
	{ "passing_memory", passing_memory, 3 },
	{ NULL, NULL, 0 },
};

struct actions memory_actions = { all, 0 };
