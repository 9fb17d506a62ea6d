// SPDX-License-Identifier: GPL-2.0-only
/* See progress.h. */
#include "progress.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define EVERY 100
/* "18446744073709551615," */
#define CLOCK_CHARACTERS 21

static uint64_t *clocks;
static size_t capacity;
static atomic_size_t done;

void progress_init(size_t operations)
{
	capacity = operations / EVERY;
	clocks = malloc((capacity + 1) * sizeof(*clocks));
	if (!clocks)
		lab_die("no memory for the progress of %zu operations", operations);
	/* Every page of it now, not when the cgroup would be charged for it. */
	memset(clocks, 0xff, (capacity + 1) * sizeof(*clocks));
}

void progress_shift(void)
{
	lab_counters("shift");
}

void progress_add(void)
{
	size_t count = atomic_fetch_add(&done, 1) + 1;

	if (count % EVERY)
		return;
	if (count / EVERY > capacity) {
		errno = 0;
		lab_die("more operations than the %zu that were planned", capacity * EVERY);
	}
	clocks[count / EVERY - 1] = lab_now_ns();
}

void progress_report(void)
{
	size_t count = atomic_load(&done) / EVERY, used = 0;
	char *list = malloc(count * CLOCK_CHARACTERS + 1);

	if (!list)
		lab_die("no memory for the report of the progress");
	*list = '\0';
	for (size_t i = 0; i < count; i++)
		used += sprintf(list + used, "%s%llu", i ? "," : "", (unsigned long long)clocks[i]);
	lab_event("\"event\":\"progress\",\"every\":%d,\"clock_ns\":[%s]", EVERY, list);
	free(list);
}
