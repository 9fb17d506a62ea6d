/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The multi-gen LRU of 6.12+next, as part 4 of the series has it (docs/series/window.md):
 * file folios that are not mapped, of one page, clean, of one zone; no anonymous ones.
 *
 * Names and arithmetic are those of mm/vmscan.c and mm/workingset.c, so that the two can be read
 * side by side: integers, shares in 1/256 of a page, memcg reclaim of 32 pages that scans 64.
 * Left out: dirty folios, which are not lent room and go round once; folios that are locked
 * while they are read; protection by frequency, which the window takes the place of.
 */
#include <limits.h>

#include "sim.h"

enum { MIN_GENS = 2, MAX_GENS = 4, WINDOW = MAX_GENS, FRESH, LISTS };
enum { SHARE_SHIFT = 8, WORTH_SHIFT = 16, WORTH_ONE = 1 << WORTH_SHIFT, PRIORITY = 12 };
enum { MIN_LRU_BATCH = 64, MAX_LRU_BATCH = 64 * MIN_LRU_BATCH };
enum shadow { NEVER, ONCE, AGAIN, HOT };
enum role { GEN_WINDOW, GEN_HOT };

static double memory = 1024, looks = 2, max_step = 16, lending = 16, call = 4, first = 8;
/*
 * Tried, see docs/series/window-log.md: what comes back takes a place at once if the hand has found
 * nothing used for longer, and for this part of a cacheful (0: never); of how many folios in a row.
 */
static double unused = 16, sooner;
/* 0: generations are never stale; over what part of a cacheful uses are counted; how many are hardly any. */
static double stale = 1, turn = 32, hardly = 32;
/*
 * What part of the window is fresh (0: none); 0: what was used often does not go round in it; how many
 * times as much has to come back of what was used once for what came back to be dead (0: never); 0: two
 * uses before the first eviction are one, too.
 */
static double fresh = .75, often = 1, dead = 2, early = 1;
/* Over what part of a cacheful loans are judged when all are lent that may be; 0: called back at once. */
static double judge = 16;
/*
 * Room is lent while one in so many comes back at once, and one in so many not for the first time (0: not
 * for that); and when nothing came back for this part of a cacheful (0: never).
 */
static double thrash = 2, twice = 4, quiet = 8;

/* struct lru_gen_folio and struct lru_gen_window */
static struct list lists[LISTS];
static uint32_t min_seq, max_seq, births[MAX_GENS];
static uint32_t age;				/* of the lruvec: evictions */
static long share, room, least;
static long worth, cache, lent, unproven, nr_early;
static uint32_t epoch, recalled, recalls, unused_since;
static long back, wanted, hot_back;		/* since the last scan */
static bool no_hand;
static long uses, nr_new, soon, nr_used, nr_soon, back_twice, nr_twice;
static uint32_t returned;			/* the age when something came back last */
static bool returns;				/* since the last scan */
static uint32_t evicted_seen;
static bool standing, is_stale;
static uint32_t all_lent;			/* the age when it was, 0: it is not */
static long used_since;
static bool judged;
static long kinds[2];				/* of once and again, what comes back */

/* What one scan does. */
static struct {
	int scanned, isolated, owed;
} scan;

/* Isolated, until the scan is over. */
static int taken[2 * MIN_LRU_BATCH];
static int nr_taken;

static long min_long(long a, long b)
{
	return a < b ? a : b;
}

static long max_long(long a, long b)
{
	return a > b ? a : b;
}

static uint32_t gen_of(uint32_t seq)
{
	return seq % MAX_GENS;
}

static void init(void)
{
	for (int i = 0; i < LISTS; i++)
		list_init(&lists[i], i + 1);
	for (int i = 0; i < MAX_GENS; i++)
		births[i] = 0;
	min_seq = 0;
	max_seq = MIN_GENS + 1;
	age = 1;
	share = room = least = worth = cache = lent = unproven = 0;
	epoch = recalled = recalls = all_lent = 0;
	judged = false;
	back = wanted = hot_back = 0;
	uses = nr_new = soon = nr_used = nr_soon = back_twice = nr_twice = 0;
	returned = age;
	returns = false;
	evicted_seen = age;
	no_hand = standing = is_stale = false;
	kinds[0] = 0;
	kinds[1] = WORTH_ONE;
}

static long window_size(void)
{
	return lists[WINDOW].size + lists[FRESH].size;
}

static long size_of_all(void)
{
	long size = 0;

	for (int i = 0; i < LISTS; i++)
		size += lists[i].size;
	return size;
}

/* --- how often a folio was used: the scale of include/linux/lru_refs.h --- */

static uint8_t scale_use(uint8_t value)
{
	return (const uint8_t[]){ 2, 3, 5, 6, 3, 7, 7, 7 }[value];
}

static bool referenced(int p)
{
	return 0xec & 1 << folios[p].count;
}

static bool again(int p)
{
	return 0xe8 & 1 << folios[p].count;
}

/* It leaves the fresh part of the window: two uses there were one. */
static uint8_t scale_mature(uint8_t value)
{
	return (const uint8_t[]){ 0, 1, 2, 3, 4, 2, 3, 7 }[value];
}

/* Whether it came back and was used, but not so often since that it could be one that was there. */
static bool back_again(int p)
{
	return 0x48 & 1 << folios[p].count;
}

static void hit(int p)
{
	bool first = folios[p].list <= MAX_GENS && !referenced(p);

	folios[p].count = scale_use(folios[p].count);
	nr_used += first && referenced(p);
}

/* --- the share of the window --- */

static void change_share(long delta)
{
	long lowest = max_long(cache / 32, min_long(cache / 8, 512)) << SHARE_SHIFT;
	long most = max_long(lowest, (cache << SHARE_SHIFT) - lowest);
	long new = max_long(lowest, min_long(share + delta, most));

	if (delta)
		room -= new - share;
	share = new;
}

static long step(void)
{
	long rest = cache - min_long(share >> SHARE_SHIFT, cache);

	return 1 + min_long(cache / (rest + 1), max_step - 1);
}

static void found_dead(long pages)
{
	change_share(pages * step() * (worth >> (WORTH_SHIFT - SHARE_SHIFT)));
}

static void found_used(long pages, long idle)
{
	long take = (WORTH_ONE - min_long(worth, WORTH_ONE / 2)) >> (WORTH_SHIFT - SHARE_SHIFT);

	change_share(-(pages * step() * take * min_long(idle, cache + 1) / (cache + 1)));
}

static void note_evicted(long pages)
{
	worth -= min_long(worth, worth * pages / (long)memory);
	soon -= min_long(soon, soon * pages / (long)memory);
	back_twice -= min_long(back_twice, back_twice * pages / (long)memory);
}

/* What was evicted of a kind, or came back of it: as a part of the last 256. */
static void note_kind(enum shadow as, bool came_back)
{
	long *kind = &kinds[as == AGAIN];

	if (as == HOT)
		return;
	*kind = came_back ? min_long(*kind + WORTH_ONE / 256, WORTH_ONE) : *kind - *kind / 256;
}

static bool back_is_dead(void)
{
	return dead && kinds[0] > WORTH_ONE / lending && kinds[1] * dead < kinds[0];
}

static long turn_of(long size)
{
	return max_long(size / (long)turn, MIN_LRU_BATCH) + 1;
}

static void age_uses(long returned)
{
	long per_turn = turn_of(cache);

	nr_new += (uint32_t)(age - evicted_seen) - returned;
	evicted_seen = age;
	standing = nr_new <= 0;
	if (nr_new > 0) {
		uses -= uses * min_long(nr_new, per_turn) / per_turn;
		nr_new = 0;
	}
	nr_new = max_long(nr_new, -per_turn);
	used_since += nr_used;
	uses = min_long(uses + (min_long(nr_used, cache) << SHARE_SHIFT), 2 * per_turn << SHARE_SHIFT);
	nr_used = 0;
}

static bool are_stale(void)
{
	long hot = cache - min_long(window_size(), cache);

	return stale && hot > cache / (long)hardly && worth > WORTH_ONE / lending &&
	       (uses << (WORTH_SHIFT - SHARE_SHIFT)) * (cache / turn_of(cache)) / hot < WORTH_ONE / (long)hardly + soon;
}

static void note_returns(void)
{
	returns = back + wanted;
	if (returns || is_stale)
		returned = age;
	age_uses(back + wanted + hot_back);
	soon = min_long(soon + nr_soon * 8 * (WORTH_ONE / (long)memory), WORTH_ONE);
	nr_soon = 0;
	back_twice = min_long(back_twice + nr_twice * (WORTH_ONE / (long)memory), WORTH_ONE);
	nr_twice = 0;
	worth = min_long(worth + (back + wanted) * (WORTH_ONE / (long)memory), WORTH_ONE);
	found_dead(wanted);
	found_used(hot_back, LONG_MAX);
	back = wanted = hot_back = 0;
}

static void note_room(long larger)
{
	least = min_long(least, larger);
	if (age - epoch < (uint32_t)cache / 16)
		return;
	room = max_long(least, 0) << SHARE_SHIFT;
	least = larger;
	epoch = age;
}

static void recall(long pages)
{
	/* a loan that did not wait does not count */
	if ((age - recalled) >> recalls >= (uint32_t)cache)
		recalls += recalls < 10;
	change_share(pages << SHARE_SHIFT);
	lent = all_lent = 0;
	judged = false;
	recalled = age;
}

static bool thrashes(void)
{
	return thrash && soon >= WORTH_ONE / thrash && (!twice || back_twice >= WORTH_ONE / twice);
}

static bool is_quiet(void)
{
	return quiet && (uint32_t)(age - returned) >= (uint32_t)max_long(cache / quiet, 4 * MIN_LRU_BATCH);
}

static bool may_lend(void)
{
	if (is_quiet())
		return true;
	if ((age - recalled) >> recalls < (uint32_t)cache)
		return false;
	return worth <= WORTH_ONE / lending || thrashes();
}

static bool lend(void)
{
	long keep = cache / first;

	if (!may_lend())
		return false;
	if ((share >> SHARE_SHIFT) - 1 < keep) {
		if (!judge && share >> SHARE_SHIFT <= keep && lent)
			recall(lent);
		if (judge && lent && !all_lent) {
			all_lent = age;
			used_since = 0;
		}
		return false;
	}
	change_share(-(1 << SHARE_SHIFT));
	room -= 1 << SHARE_SHIFT;
	lent++;
	unproven++;
	return true;
}

/* Those that have all that may be lent are to be used as often as what the window evicts may come back. */
static void judge_loans(void)
{
	if (!all_lent || judged || age - all_lent < cache / judge)
		return;
	judged = true;
	if (used_since < (cache - (share >> SHARE_SHIFT)) / judge / lending)
		recall(lent);
}

static void scale_window(long size)
{
	if (cache) {
		share = share * size / cache;
		lent = lent * size / cache;
		unproven = unproven * size / cache;
		uses = uses * size / cache;
	}
	cache = size;
}

static void begin_window(void)
{
	lent = 0;
	unproven = cache / first;
	share = (cache - unproven) << SHARE_SHIFT;
	epoch = recalled = age - cache;
	returned = age;
	unused_since = age;
	nr_early = early ? lists[FRESH].size : 0;
	least = LONG_MAX;
}

/* By how many pages the window is larger than its share. */
static long note_window(void)
{
	long larger;

	scale_window(size_of_all());
	if (!share)
		begin_window();
	if (cache - window_size() < cache / (long)first)
		unused_since = age;
	note_returns();
	change_share(0);
	judge_loans();
	if (lent && worth > WORTH_ONE / call && returns && !thrashes())
		recall(min_long(2 * lent, cache));
	larger = window_size() - (share >> SHARE_SHIFT);
	note_room(larger);
	is_stale = are_stale();
	if (lent && is_stale && thrashes()) {
		recall(lent);
		larger = window_size() - (share >> SHARE_SHIFT);
	}
	return larger;
}

static long slack(void)
{
	return min_long(cache / 64, MIN_LRU_BATCH);
}

/* --- generations --- */

static long idle_of(int gen)
{
	return (uint32_t)(age - births[(gen + MIN_GENS) % MAX_GENS]);
}

static bool due(uint32_t seq)
{
	return idle_of(gen_of(seq)) >= cache;
}

static uint32_t hand(void)
{
	for (uint32_t seq = min_seq; seq + MIN_GENS <= max_seq; seq++)
		if (lists[gen_of(seq)].size)
			return seq;
	return max_seq;
}

static void to_hot_gen(int p)
{
	folios[p].count = 0;
	list_move(&lists[folios[p].list - 1], &lists[gen_of(max_seq - 1)], p);
}

static void note_unused(int gen, long nr)
{
	long longer = idle_of(gen) - (long)(uint32_t)(age - unused_since);

	if (longer > 0)
		unused_since -= longer * min_long(nr, unused) / (long)unused;
}

static void go_round(int p)
{
	found_used(1, idle_of(folios[p].list - 1));
	unused_since = age;
	if (lent == 1) {
		recalls = all_lent = 0;
		judged = false;
	}
	lent -= lent > 0;
	unproven -= unproven > 0;
	to_hot_gen(p);
}

/* The hand meets its next folio, for a candidate. True if it is dead. */
static bool meet(uint32_t seq)
{
	struct list *list = &lists[gen_of(seq)];
	int next = list->tail;

	if (referenced(next)) {
		go_round(next);
		return false;
	}
	note_unused(gen_of(seq), 1);
	if (due(seq)) {
		scan.owed++;
		return true;
	}
	list_move(list, list, next);
	return false;
}

static void want_hand(uint32_t old)
{
	if (age - births[gen_of(max_seq)] >= old)
		no_hand = true;
}

/* No generation is old enough to be compared with. True if there is nothing in them at all. */
static bool meet_nobody(void)
{
	if (size_of_all() == window_size())
		return true;
	want_hand(max_long(cache / 8, 4 * MIN_LRU_BATCH));
	return false;
}

static bool may_stay(int p)
{
	if (!again(p))
		return false;
	for (int i = 0; i <= looks; i++) {
		uint32_t seq;

		if (room >= 1 << SHARE_SHIFT) {
			room -= 1 << SHARE_SHIFT;
			return true;
		}
		if (i == looks)
			break;
		seq = hand();
		if (seq == max_seq) {
			if (meet_nobody())
				return true;
			break;
		}
		if (meet(seq))
			return true;
	}
	return lend();
}

/* --- the scan --- */

static enum shadow shadow_as(int p, enum role role)
{
	if (role == GEN_HOT)
		return unproven && !is_stale ? AGAIN : HOT;
	return again(p) ? AGAIN : folios[p].count ? ONCE : NEVER;
}

static void isolate(int p, enum role role)
{
	folios[p].flags = shadow_as(p, role);
	note_kind(folios[p].flags, false);
	list_del(&lists[folios[p].list - 1], p);
	taken[nr_taken++] = p;
	scan.isolated++;
	if (role == GEN_HOT && unproven) {
		unproven--;
		note_evicted(1);
	}
}

static bool scan_is_over(int nr_to_scan)
{
	return scan.scanned >= nr_to_scan || scan.isolated + scan.owed >= MIN_LRU_BATCH;
}

static void scan_list(int nr_to_scan, struct list *list, enum role role)
{
	while (list->size && !scan_is_over(nr_to_scan)) {
		int p = list->tail;

		scan.scanned++;
		if (role == GEN_HOT && referenced(p))
			go_round(p);
		else if (role == GEN_WINDOW && may_stay(p)) {
			nr_used += standing && back_again(p);
			to_hot_gen(p);
		} else if (role == GEN_WINDOW && often && folios[p].count == 7) {
			folios[p].count = scale_use(0);
			list_move(list, &lists[WINDOW], p);
		} else
			isolate(p, role);
	}
}

static void scan_hand(int nr_to_scan)
{
	for (uint32_t seq = min_seq; !scan.scanned && seq + MIN_GENS <= max_seq; seq++) {
		scan_list(nr_to_scan, &lists[gen_of(seq)], GEN_HOT);
		note_unused(gen_of(seq), scan.isolated);
		if (due(seq) && !is_stale)
			found_dead(scan.isolated);
	}
}

static void mature(void)
{
	long most = window_size() * fresh;

	for (int nr = 2 * MIN_LRU_BATCH; nr > 0 && lists[FRESH].size > most; nr--) {
		int p = lists[FRESH].tail;

		if (nr_early)
			nr_early--;
		else
			folios[p].count = scale_mature(folios[p].count);
		list_move(&lists[FRESH], &lists[WINDOW], p);
	}
}

static void scan_window(int nr_to_scan)
{
	int owed;

	mature();
	scan_list(nr_to_scan, &lists[WINDOW], GEN_WINDOW);
	if (!scan.scanned)
		scan_list(nr_to_scan, &lists[FRESH], GEN_WINDOW);
	note_evicted(scan.isolated);
	least = min_long(least, window_size() - (share >> SHARE_SHIFT));
	owed = scan.owed;
	scan.owed = 0;
	for (uint32_t seq = min_seq; owed > 0 && seq + MIN_GENS <= max_seq && due(seq); seq++) {
		int isolated = scan.isolated, scanned = scan.scanned;

		scan_list(scan.scanned + owed, &lists[gen_of(seq)], GEN_HOT);
		found_dead(scan.isolated - isolated);
		owed -= scan.scanned - scanned;
	}
}

static int scan_folios(int nr_to_scan, enum role role)
{
	scan.scanned = scan.isolated = scan.owed = 0;
	nr_to_scan = min_long(nr_to_scan, MIN_LRU_BATCH);
	if (role == GEN_WINDOW)
		scan_window(nr_to_scan);
	else if (max_seq - min_seq + 1 > MIN_GENS)
		scan_hand(nr_to_scan);
	return scan.scanned;
}

static int scan_stale(int nr_to_scan)
{
	int scanned = scan_folios(nr_to_scan, GEN_HOT);

	note_evicted(scan.isolated);
	change_share(scan.isolated << SHARE_SHIFT);
	if (!scanned)
		want_hand(turn_of(cache));
	return scanned;
}

static int scan_type(int nr_to_scan)
{
	long larger = note_window();
	int scanned = is_stale ? scan_stale(nr_to_scan) : 0;

	if (scanned)
		return scanned;
	if (larger > -slack())
		scanned = scan_folios(nr_to_scan, GEN_WINDOW);
	if (!scanned)
		scanned = scan_folios(nr_to_scan, GEN_HOT);
	return scanned ? scanned : scan_folios(nr_to_scan, GEN_WINDOW);
}

/* Returns how many were scanned; what was isolated is evicted. */
static int evict_folios(int nr_to_scan)
{
	int scanned = scan_type(nr_to_scan);
	uint32_t before = min_seq;

	while (min_seq + MIN_GENS <= max_seq && !lists[gen_of(min_seq)].size)
		min_seq++;
	for (int i = 0; i < nr_taken; i++)
		folios[taken[i]].shadow = age++ << 2 | folios[taken[i]].flags;
	nr_taken = 0;
	return scanned + (before != min_seq);
}

/* --- aging and reclaim --- */

static bool should_age(int priority)
{
	long old, young, total;

	if (window_size() && window_size() - (share >> SHARE_SHIFT) > -slack())
		return no_hand;
	if (min_seq + MIN_GENS > max_seq)
		return true;
	if (min_seq + MIN_GENS < max_seq || priority == PRIORITY)
		return false;
	old = lists[gen_of(max_seq - MIN_GENS)].size;
	young = lists[gen_of(max_seq)].size;
	total = size_of_all() - window_size();
	return young * MIN_GENS > total || old * (MIN_GENS + 2) < total;
}

static void run_aging(void)
{
	if (max_seq - min_seq + 1 == MAX_GENS) {
		struct list *oldest = &lists[gen_of(min_seq)];

		while (oldest->size) {
			int p = oldest->tail;

			list_del(oldest, p);
			list_add_tail(&lists[gen_of(min_seq + 1)], p);
		}
		min_seq++;
	}
	no_hand = false;
	births[gen_of(max_seq + 1)] = age;
	max_seq++;
}

/* One priority of reclaim for a memcg. */
static void shrink(int priority, int nr_to_reclaim)
{
	long size = size_of_all(), scanned = 0;
	long nr_to_scan = max_long(size >> priority, min_long(size, MIN_LRU_BATCH));
	uint32_t before = age;
	bool aged = false;

	while (scanned < nr_to_scan && age - before < (uint32_t)nr_to_reclaim) {
		int delta;

		if (!aged && should_age(priority)) {
			run_aging();
			aged = true;
		}
		delta = evict_folios(min_long(nr_to_scan - scanned, MAX_LRU_BATCH));
		if (!delta)
			break;
		scanned += delta;
	}
}

static void evict(int nr)
{
	uint32_t before = age;

	for (int priority = PRIORITY; priority >= 0 && age - before < (uint32_t)nr; priority--)
		shrink(priority, nr);
}

static bool comes_sooner(uint32_t distance)
{
	long idle = (uint32_t)(age - unused_since);

	return sooner && idle > max_long(distance + window_size(), cache * sooner);
}

static void insert(int p, bool ahead)
{
	struct folio *f = &folios[p];
	uint32_t distance = age - (f->shadow >> 2);
	enum shadow as = f->shadow & 3;
	int to = fresh ? FRESH : WINDOW;

	f->count = 0;
	if (f->shadow && distance <= (uint32_t)cache) {
		note_kind(as, true);
		nr_soon += as != HOT && distance < (uint32_t)cache / 8;
		nr_twice += as == AGAIN;
		if (as != NEVER && back_is_dead())
			to = WINDOW;
		if (as != NEVER && comes_sooner(distance)) {
			to = gen_of(max_seq);
			wanted++;
		} else if (as == NEVER && distance < (uint32_t)cache / 8)
			wanted++;
		else if (as == HOT)
			hot_back++;
		else
			back++;
		if (as != NEVER)
			f->count = as >= AGAIN ? 4 : 1;
	}
	list_add(&lists[to], p);
	if (!ahead)
		hit(p);
	/* what is active is not used yet when it comes to its list */
	if (to < MAX_GENS)
		f->count = as >= AGAIN ? 4 : 0;
}

static double window_share(void)
{
	return cache ? (double)(share >> SHARE_SHIFT) / cache : 1;
}

static const struct param params[] = {
	{ "memory", &memory }, { "looks", &looks }, { "step", &max_step }, { "lending", &lending },
	{ "call", &call },
	{ "first", &first }, { "unused", &unused }, { "sooner", &sooner },
	{ "stale", &stale }, { "turn", &turn }, { "hardly", &hardly },
	{ "fresh", &fresh }, { "often", &often }, { "dead", &dead },
	{ "early", &early }, { "judge", &judge },
	{ "thrash", &thrash }, { "twice", &twice }, { "quiet", &quiet }, { 0 }
};

static struct policy series = {
	.name = "series", .about = "the window and generations of 6.12+next", .params = params,
	.init = init, .hit = hit, .insert = insert, .evict = evict, .share = window_share,
};
POLICY(series)
