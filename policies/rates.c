/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a policy could do that knows how often each page is used, but not when: it evicts the page
 * that is used least. Of patterns that are drawn from one distribution (zipf, database) it knows
 * the true rates, and where each access is independent of the last nothing is better; of others, and of
 * recorded traces, how often each page is used in all of the trace.
 */
#include <stdlib.h>
#include <string.h>

#include "patterns.h"
#include "sim.h"

static float *rate;
static int *heap;		/* pages in the cache, the one that is used least first */
static int size;

static void init(void)
{
	rate = realloc(rate, (trace.pages + 1) * sizeof(*rate));
	heap = realloc(heap, (capacity + BATCH + 1) * sizeof(*heap));
	size = 0;
	for (int p = 0; p < trace.pages; p++)
		rate[p] = trace.rate ? trace.rate[p] : 0;
	for (long i = 0; i < trace.to && !trace.rate; i++)
		rate[trace.access[i] >> 1] += !(trace.access[i] & 1);
}

static void hit(int p)
{
}

static void swap(int a, int b)
{
	int p = heap[a];

	heap[a] = heap[b];
	heap[b] = p;
}

static void insert(int p, bool ahead)
{
	int i = size++;

	folios[p].list = 1;
	resident++;
	heap[i] = p;
	for (; i && rate[heap[i]] < rate[heap[(i - 1) / 2]]; i = (i - 1) / 2)
		swap(i, (i - 1) / 2);
}

static void evict_one(void)
{
	folios[heap[0]].list = 0;
	resident--;
	heap[0] = heap[--size];
	for (int i = 0, child; (child = 2 * i + 1) < size; i = child) {
		child += child + 1 < size && rate[heap[child + 1]] < rate[heap[child]];
		if (rate[heap[i]] <= rate[heap[child]])
			break;
		swap(i, child);
	}
}

static void evict(int nr)
{
	while (nr--)
		evict_one();
}

static struct policy rates = {
	.name = "rates", .about = "knows how often each page is used, not when",
	.init = init, .hit = hit, .insert = insert, .evict = evict,
};
POLICY(rates)
