// SPDX-License-Identifier: GPL-2.0-only
/* See latency.h. */
#include "latency.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

#define PAIRS_PER_LINE 2000
/* "[4294967295,4294967295]," */
#define PAIR_CHARACTERS 24

void latencies_init(struct latencies *all, size_t capacity)
{
	all->us = malloc(capacity * sizeof(*all->us));
	if (!all->us)
		lab_die("no memory for %zu latencies", capacity);
	memset(all->us, 0xff, capacity * sizeof(*all->us));
	all->capacity = capacity;
	atomic_init(&all->count, 0);
}

void latencies_add(struct latencies *all, uint64_t nsec)
{
	size_t index = atomic_fetch_add(&all->count, 1);

	if (index >= all->capacity) {
		errno = 0;
		lab_die("more operations than the %zu that were planned", all->capacity);
	}
	all->us[index] = (nsec + NSEC_PER_USEC / 2) / NSEC_PER_USEC;
}

static int ascending(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

void latencies_report(struct latencies *all, const char *name)
{
	static char pairs[PAIRS_PER_LINE * PAIR_CHARACTERS + 1];
	size_t count = atomic_load(&all->count), at = 0;

	qsort(all->us, count, sizeof(*all->us), ascending);
	while (at < count) {
		size_t used = 0;

		for (int pair = 0; pair < PAIRS_PER_LINE && at < count; pair++) {
			size_t first = at;

			while (at < count && all->us[at] == all->us[first])
				at++;
			used += sprintf(pairs + used, "%s[%u,%zu]", pair ? "," : "",
					all->us[first], at - first);
		}
		lab_event("\"event\":\"latency\",\"name\":\"%s\",\"unit\":\"us\",\"counts\":[%s]",
			  name, pairs);
	}
}

uint32_t latencies_percentile(const struct latencies *all, unsigned int percent)
{
	size_t rank = (percent * all->count + 99) / 100;

	return all->us[rank ? rank - 1 : 0];
}
