/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The multi-gen LRU of stock Linux 6.12, file folios that are not mapped:
 *
 *   - Four generations at most, two at least; a folio enters the oldest, or the next one if
 *     there are more than two. Uses are counted (0..3: tiers 0, 1, 2, 2).
 *   - The oldest generation is evicted, but for tiers of which twice as large a part comes back as
 *     of the first tier; those go on to the next generation, as if they had not been used.
 *   - A refault within four generations counts for the tier that the folio had; what had the
 *     highest tier has it again.
 *   - A new generation is made when two are left, or three of which the youngest is more than half of all or
 *     the oldest less than a quarter; counts of refaults are halved when the oldest is empty.
 */
#include "sim.h"

enum { REFERENCED = 1, TIERS = 4 };

static struct list gens[4];
static uint32_t min_seq, max_seq;
static double evicted[TIERS], refaulted[TIERS], protected[TIERS];
static double avg_total[TIERS], avg_refaulted[TIERS];

static struct list *gen(uint32_t seq)
{
	return &gens[seq % 4];
}

static void init(void)
{
	for (int i = 0; i < 4; i++)
		list_init(&gens[i], i + 1);
	min_seq = 4;
	max_seq = 7;
	for (int i = 0; i < TIERS; i++)
		evicted[i] = refaulted[i] = protected[i] = avg_total[i] = avg_refaulted[i] = 0;
}

/* Uses beyond the first one, as the kernel has them in folio flags: 0, 1, 2 to 3, 4 to 5. */
static int tier(const struct folio *f)
{
	return f->count < 1 ? 0 : f->count < 2 ? 1 : f->count < 4 ? 2 : 3;
}

static void hit(int p)
{
	struct folio *f = &folios[p];

	if (!(f->flags & REFERENCED))
		f->flags |= REFERENCED;
	else if (f->count < 5)
		f->count++;
}

/* The shadow entry: generation at eviction, tier. */
static void insert(int p, bool ahead)
{
	struct folio *f = &folios[p];
	uint32_t seq = min_seq + 2 >= max_seq ? min_seq : min_seq + 1;

	f->flags = ahead ? 0 : REFERENCED;
	f->count = 0;
	if (f->shadow && max_seq - (f->shadow >> 2) < 4) {
		int t = f->shadow & 3;

		refaulted[t]++;
		if (t == TIERS - 1)
			f->count = 5;
	}
	list_add(gen(seq), p);
}

static void reset(void)
{
	for (int i = 0; i < TIERS; i++) {
		avg_refaulted[i] = (avg_refaulted[i] + refaulted[i]) / 2;
		avg_total[i] = (avg_total[i] + evicted[i] + protected[i]) / 2;
		refaulted[i] = evicted[i] = protected[i] = 0;
	}
}

/* Three generations, and too much of the cache is young or too little old. */
static bool out_of_shape(int total)
{
	return min_seq + 2 == max_seq && (gen(max_seq)->size * 2 > total || gen(min_seq)->size * 4 < total);
}

/* The generation that was the oldest is empty: go on. Make a new one if it is time. */
static void turn(void)
{
	int total = 0;

	while (!gen(min_seq)->size && min_seq + 1 < max_seq) {
		min_seq++;
		reset();
	}
	for (uint32_t seq = min_seq; seq <= max_seq; seq++)
		total += gen(seq)->size;
	if (min_seq + 1 >= max_seq || out_of_shape(total))
		max_seq++;
}

/* Whether so large a part of what a tier had evicted came back that it is to be kept. */
static bool worth(int t)
{
	double base = avg_refaulted[0] + refaulted[0], total = avg_total[0] + evicted[0];
	double mine = avg_refaulted[t] + refaulted[t], all = avg_total[t] + evicted[t] + protected[t];

	return mine >= 64 && mine * (total + 64) > 2 * (base + 1) * all;
}

static int first_protected(void)
{
	int t = 1;

	while (t < TIERS && !worth(t))
		t++;
	return t;
}

static void evict(int nr)
{
	int limit = first_protected();

	while (nr) {
		struct list *oldest;
		struct folio *f;
		int p, t;

		turn();
		oldest = gen(min_seq);
		p = oldest->tail;
		if (p < 0)
			continue;
		f = &folios[p];
		t = tier(f);
		if (t >= limit || f->count == 5) {
			protected[t]++;
			f->count = f->flags = 0;
			list_move(oldest, gen(min_seq + 1), p);
			continue;
		}
		evicted[t]++;
		f->shadow = min_seq << 2 | t;
		list_del(oldest, p);
		nr--;
	}
}

static struct policy multigen = {
	.name = "multigen", .about = "generations and tiers (6.12), simplified",
	.init = init, .hit = hit, .insert = insert, .evict = evict,
};
POLICY(multigen)
