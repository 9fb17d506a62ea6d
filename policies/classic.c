/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The classic LRU of Linux 6.12, file folios only, less than 1 GB of them:
 *
 *   - A folio enters the inactive list. The first use marks it referenced, the second one
 *     makes it active.
 *   - Inactive folios are evicted in order. Active ones become inactive, used or not, if there
 *     are more of them than inactive ones, or if a refault made one active since the last reclaim.
 *   - The non-resident age goes on with each eviction and each activation. A folio that
 *     comes back after less than the active list is long becomes active at once.
 */
#include "sim.h"

enum { REFERENCED = 1 };

static struct list active, inactive;
static uint32_t age;
static bool refaulted;	/* and became active, since the last reclaim */

static void init(void)
{
	list_init(&inactive, 1);
	list_init(&active, 2);
	age = 1;
	refaulted = false;
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
	while (nr-- > 0 && active.size) {
		int p = active.tail;

		folios[p].flags &= ~REFERENCED;
		list_move(&active, &inactive, p);
	}
}

static void evict(int nr)
{
	if (inactive.size < active.size || refaulted)
		deactivate(inactive.size ? nr * active.size / inactive.size + 1 : nr);
	refaulted = false;
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

static struct policy classic = {
	.name = "classic", .about = "active and inactive list, refault distance (6.12@classic)",
	.init = init, .hit = hit, .insert = insert, .evict = evict, .share = share,
};
POLICY(classic)
