/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The classic LRU of Linux 6.12, file folios only, less than 1 GB of them:
 *
 *   - A folio enters the inactive list. The first use marks it referenced, the second one
 *     makes it active.
 *   - Inactive folios are evicted in order. Active ones become inactive, used or not, if there
 *     are more of them than inactive ones, or if a refault made one active since the last reclaim.
 *     Reclaim learns of refaults when the counters of the cgroup are brought up to date: the kernel
 *     does that every 2 s, the model once in FLUSH reclaims.
 *     One that was used when it was active is still marked: the next use makes it active again.
 *   - The non-resident age goes on with each eviction and each activation. A folio that
 *     comes back after less than the active list is long becomes active at once.
 */
#include "sim.h"

enum { REFERENCED = 1 };

static struct list active, inactive;
static uint32_t age;
static bool refaulted;	/* and became active, since reclaim looked last */
static int reclaims;		/* since the counters were brought up to date */

static double flush = 16;

static void init(void)
{
	list_init(&inactive, 1);
	list_init(&active, 2);
	age = 1;
	refaulted = false;
	reclaims = 0;
}

static void hit(int p)
{
	struct folio *f = &folios[p];

	if (!(f->flags & REFERENCED)) {
		f->flags |= REFERENCED;
	} else if (f->list == inactive.id) {
		f->flags &= ~REFERENCED;
		list_move(&inactive, &active, p);
		age++;
	}
}

static void insert(int p, bool ahead)
{
	struct folio *f = &folios[p];
	bool back = f->shadow && age - f->shadow <= (uint32_t)active.size;

	f->flags = ahead ? 0 : REFERENCED;
	if (back) {
		age++;
		refaulted = true;
	}
	list_add(back ? &active : &inactive, p);
}

/* Let active folios become inactive, so many. */
static void deactivate(int nr)
{
	while (nr-- > 0 && active.size)
		list_move(&active, &inactive, active.tail);
}

static void evict(int nr)
{
	bool noticed = refaulted && ++reclaims >= flush;

	if (inactive.size < active.size || noticed)
		deactivate(inactive.size ? nr * active.size / inactive.size + 1 : nr);
	if (noticed) {
		refaulted = false;
		reclaims = 0;
	}
	while (nr--) {
		int p;

		if (!inactive.size)
			deactivate(BATCH);
		p = inactive.tail;
		list_del(&inactive, p);
		folios[p].shadow = age++;
	}
}

static double share(void)
{
	return (double)inactive.size / capacity;
}

static const struct param params[] = { { "flush", &flush }, { 0 } };

static struct policy classic = {
	.name = "classic", .about = "active and inactive list, refault distance (6.12@classic)",
	.params = params,
	.init = init, .hit = hit, .insert = insert, .evict = evict, .share = share,
};
POLICY(classic)
