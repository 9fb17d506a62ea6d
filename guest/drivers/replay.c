// SPDX-License-Identifier: GPL-2.0-only
/*
 * A generated pattern of the simulator (policies/patterns.c) on the real page cache:
 *
 *	replay PATTERN FILE PAGES [ANON]
 *
 * for a cache of so many pages. Each access reads from one page of FILE, which is made
 * as large as the pattern needs it (without blocks: a miss costs no disk); what the
 * pattern reads ahead is read ahead. The counters are of the part that the pattern
 * counts; as many pages are evicted (pgsteal) as are missed, but for the first cacheful.
 *
 * With ANON some pages are anonymous memory instead, written when they are used first:
 * those with even numbers ("half"), or the first ANON of them. Then what counts is
 * how many come back, of both kinds.
 */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../policies/patterns.h"
#include "child.h"
#include "lab.h"

#define PAGE_BYTES 4096UL
#define READ_BYTES 64
#define BATCH 64

struct head {
	long n, from, to, pages;
};

static int fd;
static aio_context_t context;
static struct iocb asked[BATCH];
static int nr_asked;
static char *memory;		/* as large as the file; NULL if nothing is anonymous */
static bool alternate;		/* every other page is anonymous, */
static long below;		/* or those below this one */

static void put(int to, const void *what, size_t size)
{
	while (size) {
		ssize_t done = write(to, what, size);

		if (done <= 0)
			lab_die("cannot hand over the pattern");
		what = (const char *)what + done;
		size -= done;
	}
}

/* In a process of its own, which stays outside the cgroup: its memory is not the cache's. */
static void generate(int to, const char *pattern, int capacity)
{
	struct head head;

	if (!make_pattern(pattern, capacity))
		lab_die("there is no pattern '%s'", pattern);
	head = (struct head){ trace.n, trace.from, trace.to, trace.pages };
	put(to, &head, sizeof(head));
	put(to, trace.access, trace.n * sizeof(*trace.access));
	_exit(0);
}

/* All that was asked for: the kernel does buffered reads one after the other, as they stand. */
static void flush(void)
{
	struct io_event events[BATCH];
	struct iocb *next[BATCH];

	for (int i = 0; i < nr_asked; i++)
		next[i] = asked + i;
	if (nr_asked && syscall(SYS_io_submit, context, (long)nr_asked, next) != nr_asked)
		lab_die("cannot read");
	if (nr_asked && syscall(SYS_io_getevents, context, (long)nr_asked, (long)nr_asked, events,
				NULL) != nr_asked)
		lab_die("cannot wait for what was read");
	nr_asked = 0;
}

static void use(uint32_t access)
{
	static char bytes[READ_BYTES];
	uint32_t page = access >> 1;
	off_t at = page * PAGE_BYTES;

	if (alternate ? page % 2 == 0 : page < below) {
		volatile char *byte = memory + at;

		/* in the pattern's order, which a fault does not wait for */
		flush();
		if (!*byte)
			*byte = 1;
		return;
	}
	if (access & 1) {
		flush();
		readahead(fd, at, PAGE_BYTES);
		return;
	}
	asked[nr_asked++] = (struct iocb){
		.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = fd, .aio_offset = at,
		.aio_buf = (uint64_t)bytes, .aio_nbytes = READ_BYTES,
	};
	if (nr_asked == BATCH)
		flush();
}

static void open_file(const char *path, long pages)
{
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, pages * PAGE_BYTES) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		lab_die("cannot make %s", path);
	if (syscall(SYS_io_setup, BATCH, &context))
		lab_die("cannot set up asynchronous reads");
}

static void map_memory(const char *anon, long pages)
{
	alternate = !strcmp(anon, "half");
	below = alternate ? 0 : lab_number(anon, 1 << 24);
	memory = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		lab_die("cannot map %ld pages", pages);
	madvise(memory, pages * PAGE_BYTES, MADV_NOHUGEPAGE);
}

int main(int argc, char **argv)
{
	int ends[2];
	uint32_t access;
	struct head head;
	pid_t child;
	FILE *from;

	lab_open();
	if (argc != 4 && argc != 5)
		lab_die("usage: replay PATTERN FILE PAGES [ANON]");
	if (pipe(ends))
		lab_die("cannot make a pipe");
	child = child_fork();
	if (!child)
		generate(ends[1], argv[1], lab_number(argv[3], 1 << 24));
	close(ends[1]);
	from = fdopen(ends[0], "r");
	if (!from || fread(&head, sizeof(head), 1, from) != 1)
		lab_die("no pattern came");
	open_file(argv[2], head.pages);
	if (argc == 5)
		map_memory(argv[4], head.pages);
	lab_join();
	for (long i = 0; i < head.n && fread(&access, sizeof(access), 1, from) == 1; i++) {
		if (i == head.from) {
			flush();
			lab_counters("begin");
		}
		use(access);
	}
	flush();
	lab_counters("end");
	child_check(child_wait(child), "the pattern's process");
	lab_metric("accesses", head.to - head.from);
	return 0;
}
