// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a refault costs: reads a file that does not fit, from its begin to its
 * end, and again and again:
 *
 *	refault_cost FILE PASSES
 *
 * In the first pass each page is new, and evicts another one; in the others each
 * one is a refault besides, where none of them is kept. All of it is the
 * processor's time only if the disk takes none.
 *
 * Metrics, in nanoseconds a page (instructions, where one takes a nanosecond):
 * first_read_ns; again_read_ns; refault_extra_ns, the one less the other.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PAGE 4096
#define MAX_PASSES 1000000

/* Returns the pages of the file. */
static uint64_t read_all(int fd)
{
	static char data[64 * PAGE];
	uint64_t bytes = 0;
	ssize_t got;

	while ((got = pread(fd, data, sizeof(data), bytes)) > 0)
		bytes += got;
	if (got < 0 || bytes < PAGE)
		lab_die("refault_cost: cannot read a page of the file");
	return bytes / PAGE;
}

int main(int argc, char **argv)
{
	uint64_t pages, passes, begin, middle, end;
	double first, again;
	int fd;

	lab_open();
	errno = 0;
	if (argc != 3)
		lab_die("refault_cost: needs FILE PASSES");
	passes = lab_number(argv[2], MAX_PASSES);
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !passes)
		lab_die("refault_cost: needs a file to read, and at least one pass");
	begin = lab_now_ns();
	pages = read_all(fd);
	middle = lab_now_ns();
	for (uint64_t i = 0; i < passes; i++)
		read_all(fd);
	end = lab_now_ns();
	first = (double)(middle - begin) / pages;
	again = (double)(end - middle) / pages / passes;
	lab_metric("first_read_ns", first);
	lab_metric("again_read_ns", again);
	lab_metric("refault_extra_ns", again - first);
	return 0;
}
