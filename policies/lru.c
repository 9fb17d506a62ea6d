/* SPDX-License-Identifier: GPL-2.0-only */
/* Plain LRU: what was not used for the longest time is evicted. */
#include "sim.h"

static struct list all;

static void init(void)
{
	list_init(&all, 1);
}

static void hit(int p)
{
	list_move(&all, &all, p);
}

static void insert(int p, bool ahead)
{
	list_add(&all, p);
}

static void evict(int nr)
{
	while (nr--)
		list_del(&all, all.tail);
}

static struct policy lru = {
	.name = "lru", .about = "plain LRU",
	.init = init, .hit = hit, .insert = insert, .evict = evict,
};
POLICY(lru)
