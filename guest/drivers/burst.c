// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a file in blocks of 1 MB, as fast as memory takes them:
 *
 *	burst FILE MB MB_US
 *
 * After each block it sleeps for MB_US: what copying takes, which virtual time
 * leaves out. With 0 all of it is there at one instant, and nothing that the
 * kernel does from time to time can see it coming.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MB (1 << 20)
#define MAX_MB (1UL << 20)
#define MAX_US 60000000UL

int main(int argc, char **argv)
{
	static char block[MB];
	uint64_t left, pause_ns;
	int fd;

	lab_open();
	errno = 0;
	if (argc != 4)
		lab_die("burst: needs FILE MB MB_US");
	left = lab_number(argv[2], MAX_MB);
	pause_ns = lab_number(argv[3], MAX_US) * NSEC_PER_USEC;
	memset(block, 1, sizeof(block));
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		lab_die("cannot write %s", argv[1]);
	for (; left; left--) {
		errno = 0;
		if (write(fd, block, sizeof(block)) != sizeof(block))
			lab_die("cannot write %s", argv[1]);
		if (pause_ns)
			lab_sleep_ns(pause_ns);
	}
	return 0;
}
