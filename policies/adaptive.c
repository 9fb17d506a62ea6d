/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A window for what is new, and a hot list that has to earn its room. Each begins with half,
 * and the window's share follows what the last page of each is worth.
 *
 *   - A folio enters the window. At the window's end it is evicted if it has no count, else it
 *     is a candidate.
 *   - A candidate becomes hot if the hot list has room. Else it meets the hot folios that are
 *     next to go, LOOKS of them:
 *       used since the hand passed     it stays and goes round, one count less
 *       not used, but not due yet      it goes round; who is there wins a tie
 *       not used, and due: dead        it is evicted, and the candidate takes its place;
 *                                      with a higher count than the candidate's it goes round
 *                                      at half of it
 *     If none is evicted, the candidate is.
 *   - Due: DUE times the cache was evicted since it became hot or was last found used. (In the
 *     kernel generations would have to tell; here each folio has a time.)
 *   - The count of uses (0..CMAX) survives eviction if the folio comes back within the size of
 *     the cache.
 *   - BACK: of what the window evicts, the part that comes back within the size of the cache.
 *     Each hot folio found used takes (1 - BACK) from the window's share, MIN at least, each dead
 *     one gives BACK; times RATE. What was read ahead, evicted unused and comes back gives, too.
 */
#include <stdlib.h>

#include "sim.h"

enum { AHEAD = 1, SEEN = 2, USED = 4 };	/* read ahead and not used; used ever; since the hand passed */

static double cmax = 7, rate = 2, looks = 2, due = 1, start = .5, min = .5;

static struct list window, hot;
static uint32_t clock_;		/* evictions */
static uint32_t *since;		/* a hot folio was found used, or became hot */
static int since_size;
static double back, room;	/* of the window, in pages */

/* Shadow entries: age, count, was hot, seen. */
static uint32_t shadow_pack(struct folio *f)
{
	return clock_ << 5 | (f->list == hot.id) << 4 | !!(f->flags & SEEN) << 3 | f->count;
}

static void init(void)
{
	list_init(&window, 1);
	list_init(&hot, 2);
	clock_ = 1;
	back = 0;
	room = capacity * start;
}

static void need_since(int p)
{
	if (p < since_size)
		return;
	since_size = p * 2 + 1024;
	since = realloc(since, since_size * sizeof(*since));
}

static void found(int what)
{
	double take = 1 - back > min ? 1 - back : min;

	room += rate * (what > 0 ? back : -take);
	if (room < capacity / 32.)
		room = capacity / 32.;
	if (room > capacity * 31 / 32.)
		room = capacity * 31 / 32.;
}

static void hit(int p)
{
	struct folio *f = &folios[p];

	if (f->flags & AHEAD) {
		f->flags = SEEN;
		return;
	}
	f->flags |= SEEN | USED;
	if (f->count < cmax)
		f->count++;
}

static void refault(struct folio *f, bool ahead)
{
	bool was_hot = f->shadow >> 4 & 1, seen = f->shadow >> 3 & 1;

	f->count = f->shadow & 7;
	if (!was_hot) {
		back += 1 / 1024.;
		if (back > 1)
			back = 1;
	}
	if (seen && f->count < cmax)
		f->count++;
	if (!seen && !was_hot)
		found(1);
	if (!ahead)
		f->flags |= USED;
}

static void insert(int p, bool ahead)
{
	struct folio *f = &folios[p];

	need_since(p);
	f->count = 0;
	f->flags = ahead ? AHEAD : SEEN;
	if (f->shadow && clock_ - (f->shadow >> 5) <= (uint32_t)capacity)
		refault(f, ahead);
	list_add(&window, p);
}

static void drop(struct list *from, int p)
{
	struct folio *f = &folios[p];

	if (from == &window)
		back -= back / 1024;
	f->shadow = shadow_pack(f);
	clock_++;
	list_del(from, p);
}

static void promote(int p)
{
	folios[p].flags &= ~USED;
	since[p] = clock_;
	list_move(&window, &hot, p);
}

/*
 * Make the hot folio that is next to go defend its place against a candidate with so many
 * uses, or, with -1, against the window, which has less than its share. True if it is gone.
 */
static bool challenge(int with)
{
	int p = hot.tail;
	struct folio *f = &folios[p];

	if (f->flags & USED) {
		f->flags &= ~USED;
		since[p] = clock_;
		if (f->count)
			f->count--;
		found(-1);
	} else if (with < 0 || clock_ - since[p] >= due * capacity) {
		found(1);
		if (with < 0 || f->count <= with) {
			drop(&hot, p);
			return true;
		}
		f->count /= 2;
	}
	list_move(&hot, &hot, p);
	return false;
}

/* True if a folio was evicted. */
static bool evict_one(void)
{
	int p = window.tail;
	bool won = false;

	/* A batch less than its share: it was just evicted from. */
	if (window.size + BATCH <= room && hot.size)
		return challenge(-1);
	if (!folios[p].count) {
		drop(&window, p);
		return true;
	}
	if (hot.size < capacity - room) {
		promote(p);
		return false;
	}
	for (int i = 0; i < looks && !won; i++)
		won = challenge(folios[p].count);
	if (won)
		promote(p);
	else
		drop(&window, p);
	return true;
}

static void evict(int nr)
{
	while (nr > 0)
		nr -= evict_one();
}

static double share(void)
{
	return room / capacity;
}

static const struct param params[] = {
	{ "cmax", &cmax }, { "rate", &rate }, { "looks", &looks }, { "due", &due },
	{ "start", &start }, { "min", &min }, { 0 }
};

static struct policy adaptive = {
	.name = "adaptive", .about = "a window, and a hot list that earns its room", .params = params,
	.init = init, .hit = hit, .insert = insert, .evict = evict, .share = share,
};
POLICY(adaptive)
