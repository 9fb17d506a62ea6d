// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends some of the kernel's counters at an interval, until SIGTERM:
 *
 *	sampler INTERVAL_MS VMSTAT_NAMES MEMORY_STAT_NAMES
 *
 * Names are separated by commas; an empty list is none. It runs outside the
 * cgroup under test, whose files it reads. In virtual time it costs nothing.
 */
#include "lab.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

/* Sleep until then; 0 if SIGTERM came instead. */
static int sleep_until(uint64_t then, const sigset_t *end)
{
	uint64_t now = lab_now_ns();
	uint64_t rest = then > now ? then - now : 0;
	struct timespec wait = {
		.tv_sec = rest / NSEC_PER_SEC,
		.tv_nsec = rest % NSEC_PER_SEC,
	};

	return sigtimedwait(end, NULL, &wait) < 0 && errno == EAGAIN;
}

int main(int argc, char **argv)
{
	uint64_t interval, next;
	sigset_t end;

	lab_open();
	errno = 0;
	if (argc != 4)
		lab_die("sampler: needs INTERVAL_MS VMSTAT_NAMES MEMORY_STAT_NAMES");
	interval = strtod(argv[1], NULL) * 1000 * NSEC_PER_USEC;
	if (!interval)
		lab_die("sampler: '%s' is no interval", argv[1]);
	/* Blocked, the signal cannot cut a line in two. */
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL);
	next = lab_now_ns();
	do {
		lab_sample(argv[2], argv[3]);
		next += interval;
	} while (sleep_until(next, &end));
	return 0;
}
