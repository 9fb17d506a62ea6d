// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stress of page cache: files that all processes read, map, write, truncate and
 * drop at once, whose pages have names; and one without blocks, larger than the
 * machine's memory, to read without a disk.
 */
#include "stress.h"

#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define NR_FILES 3
#define MAX_RANGE 128
#define SPARSE_MB 8192UL

static int files[NR_FILES], direct[NR_FILES], sparse;
static sigjmp_buf beyond_the_end;

static struct range {
	int file;
	uint64_t begin, end;
} range;

static uint64_t file_pages(void)
{
	return options.file_mb * MB / PAGE;
}

static void pick_range(void)
{
	range = (struct range){ .file = pick(NR_FILES), .begin = pick(file_pages()) };
	range.end = range.begin + 1 + pick(MAX_RANGE);
	if (range.end > file_pages())
		range.end = file_pages();
}

static uint64_t name_of(uint64_t page)
{
	return (uint64_t)(range.file + 16) << 32 | (page + 1);
}

static size_t range_size(void)
{
	return (range.end - range.begin) * PAGE;
}

static int read_pages(int file, int flags)
{
	static char data[8 * PAGE] __attribute__((aligned(4096)));
	struct iovec vector = { data, sizeof(data) };

	for (uint64_t page = range.begin; page < range.end;) {
		ssize_t got = preadv2(file, &vector, 1, page * PAGE, flags);

		if (got <= 0)
			return got < 0 ? -1 : 0;
		for (uint64_t i = 0; i < got / PAGE; i++)
			page_check(data + i * PAGE, name_of(page + i), 1);
		page += got < (ssize_t)PAGE ? 1 : got / PAGE;
	}
	return 0;
}

static int write_pages(int file)
{
	static char data[PAGE] __attribute__((aligned(4096)));

	for (uint64_t page = range.begin; page < range.end; page++) {
		page_fill(data, name_of(page));
		if (pwrite(file, data, PAGE, page * PAGE) < 0)
			return -1;
	}
	return 0;
}

static int read_some(void)
{
	pick_range();
	return read_pages(files[range.file], 0);
}

static int read_at_once(void)
{
	pick_range();
	return read_pages(files[range.file], RWF_NOWAIT);
}

static int read_direct(void)
{
	pick_range();
	return read_pages(direct[range.file], 0);
}

static int write_some(void)
{
	pick_range();
	return write_pages(files[range.file]);
}

static int write_direct(void)
{
	pick_range();
	if (range.end > range.begin + 16)
		range.end = range.begin + 16;
	return write_pages(direct[range.file]);
}

static void on_sigbus(int signal)
{
	(void)signal;
	siglongjmp(beyond_the_end, 1);
}

/* What was truncated meanwhile is a SIGBUS. */
static int use_map(char *map, int writes)
{
	struct sigaction action = { .sa_handler = on_sigbus }, old;
	int beyond;

	sigaction(SIGBUS, &action, &old);
	beyond = sigsetjmp(beyond_the_end, 1);
	for (uint64_t page = range.begin; !beyond && page < range.end; page++) {
		char *data = map + (page - range.begin) * PAGE;

		page_check(data, name_of(page), 1);
		if (writes)
			page_fill(data, name_of(page));
	}
	sigaction(SIGBUS, &old, NULL);
	return -beyond;
}

static int map_range(int writes)
{
	static const int advices[] = { MADV_COLD, MADV_PAGEOUT, MADV_RANDOM, MADV_SEQUENTIAL };
	int protection = PROT_READ | (writes ? PROT_WRITE : 0), done;
	char *map;

	pick_range();
	map = mmap(NULL, range_size(), protection, MAP_SHARED, files[range.file],
		   range.begin * PAGE);
	if (map == MAP_FAILED)
		return -1;
	if (!pick(4))
		madvise(map, range_size(), advices[pick(4)]);
	done = use_map(map, writes);
	if (!pick(4))
		mlock(map, range_size());
	if (!pick(2))
		madvise(map, range_size(), advices[pick(2)]);
	if (writes && !pick(4))
		msync(map, range_size(), MS_ASYNC);
	munmap(map, range_size());
	return done;
}

static int map_to_read(void)
{
	return map_range(0);
}

static int map_to_write(void)
{
	return map_range(1);
}

static int truncate_file(void)
{
	pick_range();
	return ftruncate(files[range.file], range.begin * PAGE) ||
	       ftruncate(files[range.file], options.file_mb * MB) ? -1 : 0;
}

static int punch(void)
{
	pick_range();
	return fallocate(files[range.file], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 range.begin * PAGE, range_size());
}

static int drop(void)
{
	pick_range();
	return posix_fadvise(files[range.file], range.begin * PAGE, range_size(),
			     POSIX_FADV_DONTNEED) ? -1 : 0;
}

static int read_ahead(void)
{
	pick_range();
	return readahead(files[range.file], range.begin * PAGE, range_size());
}

static int send(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	off_t at;

	pick_range();
	at = range.begin * PAGE;
	while (at < (off_t)(range.end * PAGE) &&
	       sendfile(null, files[range.file], &at, range.end * PAGE - at) > 0)
		;
	close(null);
	return 0;
}

static int write_back(void)
{
	pick_range();
	if (pick(2))
		return sync_file_range(files[range.file], range.begin * PAGE, range_size(),
				       SYNC_FILE_RANGE_WRITE);
	return fdatasync(files[range.file]);
}

int files_read_sparse(uint64_t megabytes)
{
	uint64_t begin = pick(SPARSE_MB - megabytes) * MB;

	for (uint64_t at = 0; at < megabytes && !stress->stop; at++)
		if (posix_fadvise(sparse, begin + at * MB, MB, POSIX_FADV_WILLNEED))
			return -1;
	return 0;
}

/* The group's own stream, of which nothing is used again. */
static int stream(void)
{
	return files_read_sparse(1 + pick(4));
}

static int open_file(const char *name, int flags)
{
	char path[512];
	int file;

	snprintf(path, sizeof(path), "%s/%s", options.files, name);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0644);
	if (file < 0)
		lab_die("cannot create %s", path);
	return file;
}

void files_open(void)
{
	for (int i = 0; i < NR_FILES; i++) {
		char name[24];

		snprintf(name, sizeof(name), "stress-%d", i);
		files[i] = open_file(name, 0);
		direct[i] = open_file(name, O_DIRECT);
		range = (struct range){ i, 0, file_pages() };
		if (ftruncate(files[i], options.file_mb * MB) || write_pages(files[i]))
			lab_die("cannot write %s", name);
	}
	sparse = open_file("sparse", 0);
	if (ftruncate(sparse, SPARSE_MB * MB))
		lab_die("cannot enlarge the sparse file");
	sync();
}

/* Unmounted, because the file system holds some of its metadata. */
void files_close(void)
{
	for (int i = 0; i < NR_FILES; i++) {
		close(files[i]);
		close(direct[i]);
	}
	close(sparse);
	if (umount(options.files))
		lab_die("cannot unmount %s", options.files);
}

static const struct action all[] = {
	{ "read_file", read_some, 10 },
	{ "read_nowait", read_at_once, 2 },
	{ "read_direct", read_direct, 1 },
	{ "write_file", write_some, 4 },
	{ "write_direct", write_direct, 1 },
	{ "map_read", map_to_read, 6 },
	{ "map_write", map_to_write, 3 },
	{ "truncate", truncate_file, 1 },
	{ "punch_hole", punch, 2 },
	{ "fadvise_dontneed", drop, 2 },
	{ "readahead", read_ahead, 2 },
	{ "sendfile", send, 2 },
	{ "write_back", write_back, 1 },
	{ "stream", stream, 4 },
	{ NULL, NULL, 0 },
};

struct actions file_actions = { all, 0 };
