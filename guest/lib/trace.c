// SPDX-License-Identifier: GPL-2.0-only
/* See trace.h. */
#include "trace.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab.h"

_Static_assert(sizeof(struct trace_record) == 8, "the host writes records of 8 bytes");

struct trace trace_load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct trace trace;
	struct stat stat;
	size_t used = 0;
	ssize_t got;

	if (fd < 0 || fstat(fd, &stat) || !stat.st_size)
		lab_die("cannot read the trace %s", path);
	trace.count = stat.st_size / sizeof(*trace.at);
	trace.at = mmap(NULL, stat.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	if (trace.at == MAP_FAILED)
		lab_die("no memory for the trace");
	while (used < (size_t)stat.st_size) {
		got = read(fd, (char *)trace.at + used, stat.st_size - used);
		if (got <= 0)
			lab_die("cannot read the trace %s", path);
		used += got;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return trace;
}

void trace_fill(void *out, size_t size, uint64_t key, uint64_t version)
{
	uint64_t state = key ^ version << 32;
	char *at = out;

	while (size) {
		uint64_t word = lab_random(&state);
		size_t part = size < sizeof(word) ? size : sizeof(word);

		memcpy(at, &word, part);
		at += part;
		size -= part;
	}
}
