/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bound for policies that cannot see the future, by hazard rates: how likely a page is used next,
 * given how often it was used so far (1, 2, to 4, 8, or more), at which mean interval (in quarters of an
 * octave), and how long ago last (in octaves), of all of the trace. An access is a hit if its page is
 * among those, as many as the cache is large, with the highest rates just then, wherever they
 * were meanwhile; so a loop seems to fit nearly whole. What else a policy may know is not in it: the
 * order of accesses, and what was read ahead.
 */
#include <stdlib.h>
#include <string.h>

#include "patterns.h"
#include "sim.h"

enum { COUNTS = 5, INTERVALS = 80, AGES = 24, CELLS = COUNTS * INTERVALS * AGES };
enum { EVERY = 256 };			/* accesses, how often pages' ages are looked at */

static struct list cells[CELLS];
static int order[CELLS];		/* cells by rate, the highest first */
static double events[CELLS], exposure[CELLS];
static float held[CELLS];		/* what part of its pages the cache has */
static uint32_t *first, *last, *uses;	/* of each page */
static uint32_t now;

static int at_most(int n, int most)
{
	return n < most ? n : most;
}

static int octave(uint32_t n)
{
	return n ? 31 - __builtin_clz(n) : 0;
}

static int quarters(uint32_t n)
{
	int whole = octave(n);

	return whole < 2 ? (int)n : 4 * whole - 4 + (int)(n >> (whole - 2) & 3);
}

/* The first of its cells: for what was used just now. */
static int young_cell(int p)
{
	int count = at_most(uses[p] < 2 ? 0 : octave(uses[p] - 1) + 1, COUNTS - 1);
	int interval = uses[p] < 2 ? 0 : quarters((last[p] - first[p]) / (uses[p] - 1));

	return (count * INTERVALS + at_most(interval, INTERVALS - 1)) * AGES;
}

static int cell_of(int p)
{
	return young_cell(p) + at_most(octave(now - last[p]), AGES - 1);
}

static uint32_t *array(uint32_t *old)
{
	size_t bytes = (trace.pages + 1) * sizeof(*old);

	return memset(realloc(old, bytes), 0, bytes);
}

static void forget(void)
{
	first = array(first);
	last = array(last);
	uses = array(uses);
	now = 0;
}

static void note_use(int p)
{
	if (!uses[p]++)
		first[p] = now;
	last[p] = now;
}

/* A page was not used for that long: in each octave, for the time that it lasts. */
static void expose(int p)
{
	uint32_t age = now - last[p];
	double *mine = exposure + young_cell(p);

	for (int i = 0; i < AGES && (i == 0 || age >> i); i++) {
		uint32_t begin = i ? 1u << i : 0, end = i < AGES - 1 ? 2u << i : age;

		mine[i] += (age < end ? age : end) - begin;
	}
}

static double rate(int cell)
{
	return exposure[cell] ? events[cell] / exposure[cell] : 0;
}

static int by_rate(const void *a, const void *b)
{
	double x = rate(*(const int *)a), y = rate(*(const int *)b);

	return (x < y) - (x > y);
}

/* What the rates are, from the trace up to the end of the part that counts. */
static void learn(void)
{
	forget();
	memset(events, 0, sizeof(events));
	memset(exposure, 0, sizeof(exposure));
	for (long i = 0; i < trace.to; i++) {
		int p = trace.access[i] >> 1;

		if (trace.access[i] & 1)
			continue;
		now++;
		if (uses[p]) {
			expose(p);
			events[cell_of(p)]++;
		}
		note_use(p);
	}
	for (int p = 0; p < trace.pages; p++)
		if (uses[p])
			expose(p);
	for (int i = 0; i < CELLS; i++)
		order[i] = i;
	qsort(order, CELLS, sizeof(*order), by_rate);
}

/* Pages that have grown older go to the next octave; in each cell the oldest is the last one. */
static void grow_older(void)
{
	double left = capacity;

	for (int i = 0; i < CELLS; i++)
		while (cells[i].size && cell_of(cells[i].tail) != i)
			list_move(&cells[i], &cells[cell_of(cells[i].tail)], cells[i].tail);
	for (int i = 0; i < CELLS; i++) {
		struct list *cell = &cells[order[i]];

		held[order[i]] = left >= cell->size ? 1 : left / cell->size;
		left = left >= cell->size ? left - cell->size : 0;
	}
}

static void use(int p)
{
	if (folios[p].list)
		list_del(&cells[folios[p].list - 1], p);
	note_use(p);
	list_add(&cells[cell_of(p)], p);
}

static long misses(void)
{
	double missed = 0;

	learn();
	forget();
	for (int i = 0; i < CELLS; i++)
		list_init(&cells[i], i + 1);
	for (long i = 0; i < trace.to; i++) {
		int p = trace.access[i] >> 1;

		if (trace.access[i] & 1)
			continue;
		if (now++ % EVERY == 0)
			grow_older();
		if (i >= trace.from)
			missed += folios[p].list ? 1 - held[folios[p].list - 1] : 1;
		use(p);
	}
	return missed + .5;
}

static struct policy hazard = {
	.name = "hazard", .about = "a bound for what knows when pages were used, and not the future",
	.misses = misses,
};
POLICY(hazard)
