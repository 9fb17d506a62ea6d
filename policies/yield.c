/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A window for what is new, and a hot list that has to earn its room and yields when it is idle.
 *
 * As adaptive.c:
 *   - A folio enters the window. At the window's end it is evicted if it has no count, else it
 *     is a candidate: hot, if the hot list has room, else it meets the LOOKS hot folios that are
 *     next to go:
 *       used since the hand passed     it stays and goes round, one count less
 *       not used, but not due yet      it goes round; who is there wins a tie
 *       not used, and due: dead        it is evicted, and the candidate takes its place;
 *                                      with a higher count than the candidate's it goes round
 *                                      at half of it
 *     If none is evicted, the candidate is.
 *   - Due: three generations began since it was found used or became hot; one begins with every
 *     half of the cache that is evicted. (Two bits for each folio.)
 *   - The count of uses (0..CMAX) survives eviction if the folio comes back within the size of the
 *     cache: the shadow entry has the clock of evictions, count, seen, was hot.
 *   - BACK: of what the window evicts, the part that comes back within the size of the cache.
 *     Each hot folio found used takes from the window's share, each dead one gives.
 * New:
 *   - Fresh is what comes in and was not evicted within the last cacheful. Against what is
 *     fresh the hot list is protected only as long as it is in use.
 *   - RECENT: uses of hot folios, only the first after the hand passed, while the last 1/TU
 *     of the cache came in fresh (a decaying sum: a first use adds one, each fresh folio takes the
 *     part TU / size of the cache). UNUSED: hot folios not used since the hand passed. So
 *     RECENT * TU / UNUSED is how often a hot folio is used while a cacheful comes in fresh.
 *   - SOON: how often a folio that the window evicts would be used in a cacheful of evictions if
 *     it stayed, from those that come back within an eighth of the cache, times eight. (What a page
 *     more is worth to a window that is small: 0 for a loop, much where what was used
 *     just now is used again.)
 *   - Idle: RECENT * TU < (FLOOR + WORTH * SOON) * UNUSED. Then what is evicted is the next hot one
 *     that was not used, of ILOOKS (those used go round), and the window's share grows by it, up
 *     to YIELD of the cache. The last 1/128 of the cache is not taken.
 *   - A loop that does not fit is all refaults, nothing fresh: it never makes its hot
 *     part idle. What became hot when folios came back counts as one use.
 *
 * Rule of rest: the window's share rests where, of the hot folios that the hand found used or due,
 * the used part times (1 - BACK) is the dead part times BACK; a share won by yielding is at most
 * YIELD, from where it comes down again. The hot list stops yielding when a hot folio is
 * used as often as WORTH times what the window evicts would be.
 *
 * In a kernel: per lruvec the clock, RECENT, UNUSED, BACK, SOON and the share; per folio
 * list, generation, count, seen, used. On an access bits, and, for the first use of a hot folio
 * after the hand passed, RECENT and UNUSED. Works without that, with what the hand sees, for folios
 * that are mapped.
 */
#include "sim.h"

enum { AHEAD = 1, SEEN = 2, USED = 4 };	/* read ahead and not used; used ever; since the hand passed */
enum { DUE = 3 };			/* generations */

static double cmax = 7, rate = 2, looks = 2, start = .5, min = .5, epoch = .5, cap = .97;
static double tback = 8, tsoon = 8, tu = 32, floor_ = .03, worth = .75, ilooks = 16, yield = .875, keep = 128;

static struct list window, hot;
static uint32_t clock_;			/* evictions */
static double back, soon, room;	/* room: of the window, in pages */
static double recent, unused;		/* uses of hot ones; hot ones not used */
static double fresh, refaults;		/* since the last eviction */

/* Shadow entries: age, was hot, seen, count. */
static uint32_t shadow_pack(const struct folio *f)
{
	return clock_ << 5 | (f->list == hot.id) << 4 | !!(f->flags & SEEN) << 3 | f->count;
}

static void init(void)
{
	list_init(&window, 1);
	list_init(&hot, 2);
	clock_ = 1;
	room = capacity * start;
	back = soon = recent = unused = fresh = refaults = 0;
}

static uint8_t generation(void)
{
	return clock_ / (uint32_t)(capacity * epoch);
}

static void note_use(double uses)
{
	recent += uses;
	if (recent > 2 * capacity / tu)
		recent = 2 * capacity / tu;
}

/* The hand found a hot folio dead (+1) or used (-1). */
static void found(int what)
{
	double take = 1 - back > min ? 1 - back : min;

	room += rate * (what > 0 ? back : -take);
	if (room < capacity / 32.)
		room = capacity / 32.;
	if (room > capacity * cap)
		room = capacity * cap;
}

static void hit(int p)
{
	struct folio *f = &folios[p];

	if (f->flags & AHEAD) {
		f->flags = SEEN;
		return;
	}
	if (f->list == hot.id && !(f->flags & USED)) {
		unused--;
		note_use(1);
	}
	f->flags |= SEEN | USED;
	if (f->count < cmax)
		f->count++;
}

static void refault(struct folio *f, bool ahead)
{
	bool was_hot = f->shadow >> 4 & 1, seen = f->shadow >> 3 & 1;

	refaults++;
	f->count = f->shadow & 7;
	if (!was_hot && clock_ - (f->shadow >> 5) < (uint32_t)capacity / 8)
		soon += 8 * tsoon / capacity;
	if (!was_hot) {
		back += tback / capacity;
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

	f->count = 0;
	f->flags = ahead ? AHEAD : SEEN;
	if (f->shadow && clock_ - (f->shadow >> 5) <= (uint32_t)capacity) {
		refault(f, ahead);
	} else {
		fresh++;
		recent -= recent * tu / capacity;
	}
	list_add(&window, p);
}

static void drop(struct list *from, int p)
{
	struct folio *f = &folios[p];

	if (from == &window) {
		back -= back * tback / capacity;
		soon -= soon * tsoon / capacity;
	} else if (!(f->flags & USED)) {
		unused--;
	}
	f->shadow = shadow_pack(f);
	clock_++;
	list_del(from, p);
}

static void promote(int p)
{
	struct folio *f = &folios[p];

	f->flags &= ~USED;
	f->gen = generation();
	unused++;
	if (refaults)
		note_use(refaults / (refaults + fresh));
	list_move(&window, &hot, p);
}

/* A hot folio that is next to go was used, or is to stay: it goes round. */
static void go_round(int p)
{
	if (folios[p].flags & USED)
		unused++;
	folios[p].flags &= ~USED;
	list_move(&hot, &hot, p);
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
		f->gen = generation();
		if (f->count)
			f->count--;
		found(-1);
	} else if (with < 0 || (uint8_t)(generation() - f->gen) >= DUE) {
		found(1);
		if (with < 0 || f->count <= with) {
			drop(&hot, p);
			return true;
		}
		f->count /= 2;
	}
	go_round(p);
	return false;
}

static bool idle(void)
{
	return hot.size > capacity / keep && recent * tu < (floor_ + worth * soon) * unused;
}

/* The hot list yields a folio that was not used. False if there was none among the next. */
static bool yield_one(void)
{
	for (int i = 0; i < ilooks; i++) {
		int p = hot.tail;

		if (folios[p].flags & USED) {
			go_round(p);
			continue;
		}
		drop(&hot, p);
		if (room < capacity * yield)
			room++;
		return true;
	}
	return false;
}

/* True if a folio was evicted. */
static bool evict_one(void)
{
	int p = window.tail;
	bool won = false;

	if (idle() && yield_one())
		return true;
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
	fresh = refaults = 0;
}

static double share(void)
{
	return room / capacity;
}

static const struct param params[] = {
	{ "cmax", &cmax }, { "rate", &rate }, { "looks", &looks }, { "start", &start }, { "min", &min },
	{ "epoch", &epoch }, { "cap", &cap }, { "tback", &tback }, { "tsoon", &tsoon }, { "tu", &tu }, { "floor", &floor_ },
	{ "worth", &worth }, { "ilooks", &ilooks }, { "yield", &yield }, { "keep", &keep }, { 0 }
};

static struct policy yielding = {
	.name = "yield", .about = "as adaptive; a hot list that is idle yields to what is fresh",
	.params = params,
	.init = init, .hit = hit, .insert = insert, .evict = evict, .share = share,
};
POLICY(yielding)
