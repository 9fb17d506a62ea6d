// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print how many thousand times a second the time stamp counter of this host
 * counts. Runs on the host, not in a guest: an emulated processor has the
 * host's counter, and a busy host gives the guest no chance to find its rate.
 */
#include "lab.h"

#include <stdio.h>
#include <x86intrin.h>

#define MEASURE_NS (50 * NSEC_PER_MSEC)
#define TRIES 5

/* Between two looks at the clock, each as near to one at the counter as can be. */
static unsigned long long measure(void)
{
	unsigned long long begin_ns = lab_now_ns(), begin = __rdtsc(), end_ns, end;

	lab_sleep_ns(MEASURE_NS);
	end_ns = lab_now_ns();
	end = __rdtsc();
	return (end - begin) * (NSEC_PER_SEC / 1000) / (end_ns - begin_ns);
}

int main(void)
{
	unsigned long long rates[TRIES];

	/* The middle one: whoever was interrupted between the two looks is far off. */
	for (int i = 0; i < TRIES; i++) {
		unsigned long long rate = measure();
		int at = i;

		for (; at && rates[at - 1] > rate; at--)
			rates[at] = rates[at - 1];
		rates[at] = rate;
	}
	printf("%llu\n", rates[TRIES / 2]);
	return 0;
}
