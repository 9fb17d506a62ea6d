/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generated patterns of access. A name is that of a family and its numbers, as lag0.1 or
 * files0.3,3; sizes are parts of the cache (C). then-X is pattern X after a long zipfian phase, of
 * which nothing is counted; so is loop-then-X after a loop that does not fit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"

struct trace trace;

static float *rates;

static long room;		/* accesses that trace.access has memory for */
static long base;		/* pages below are those of an earlier phase */
static double C;
static double x, y;		/* the numbers of the name; 0 if not given */

void put_access(long page, bool ahead)
{
	if (trace.n == room) {
		room = room * 2 + (1 << 20);
		trace.access = realloc(trace.access, room * sizeof(*trace.access));
	}
	page += base;
	trace.access[trace.n++] = page << 1 | ahead;
	if (page >= trace.pages)
		trace.pages = page + 1;
}

static void put(long page)
{
	put_access(page, false);
}

static uint64_t state;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static double uniform(void)
{
	return (rnd() >> 11) * (1.0 / 9007199254740992.0);
}

static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 33) * 0xff51afd7ed558ccdULL;
	v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return v ^ v >> 33;
}

struct zipf {
	double n, theta, zeta, alpha, eta;
};

static struct zipf zipf(double items, double theta)
{
	struct zipf z = { .n = items, .theta = theta, .alpha = 1 / (1 - theta) };

	for (long i = 1; i <= items && i <= 1000000; i++)
		z.zeta += pow(1.0 / i, theta);
	if (items > 1e6)
		z.zeta += (pow(items, 1 - theta) - pow(1e6, 1 - theta)) / (1 - theta);
	z.eta = (1 - pow(2 / items, 1 - theta)) / (1 - (1 + pow(.5, theta)) / z.zeta);
	return z;
}

static long draw(const struct zipf *z)
{
	double u = uniform(), uz = u * z->zeta;

	if (uz < 1)
		return 0;
	if (uz < 1 + pow(.5, z->theta))
		return 1;
	return z->n * pow(z->eta * u - z->eta + 1, z->alpha);
}

/* A page of z.n: which of them are hot is not a matter of order. */
static long draw_page(const struct zipf *z)
{
	return mix(draw(z)) % (long)z->n;
}

/*
 * The true rates of pages, where all are drawn alike: the page of record r is mix(r) % records /
 * to_a_page. Beyond ten million ranks, what is left is spread evenly.
 */
static void note_rates(const struct zipf *z, long records, int to_a_page)
{
	long pages = records / to_a_page + 1, ranks = z->n < 1e7 ? z->n : 1e7;
	double left = z->zeta;

	rates = realloc(rates, pages * sizeof(*rates));
	memset(rates, 0, pages * sizeof(*rates));
	for (long r = 0; r < ranks; r++) {
		double weight = pow(1. / (r + 1), z->theta);

		rates[mix(r) % records / to_a_page] += weight;
		left -= weight;
	}
	for (long i = 0; i < pages && ranks < z->n; i++)
		rates[i] += left / pages;
	trace.rate = rates;
}

/* A hot file that is read from end to end, over and over: so many times. */
static void read_file(long first, long pages)
{
	for (long i = 0; i < pages; i++)
		put(first + i);
}

/* --- families --- */

/* YCSB: records, 33 to a page, zipfian, behind the database's own cache (LRU, 0.45 C) */
static void database(void)
{
	long records = C * 33 * 7 / 2, leaves = records / 33 + 1, used = 0, newest = -1, oldest = -1;
	int *prev = malloc(leaves * sizeof(int)), *next = malloc(leaves * sizeof(int));
	char *in = calloc(leaves, 1);
	struct zipf z = zipf(156250000, .99);

	for (long i = 0; i < C * 600; i++) {
		long l = mix(draw(&z)) % records / 33;

		if (in[l] && l == newest)
			continue;
		if (in[l]) {
			next[prev[l]] = next[l];
			if (next[l] >= 0)
				prev[next[l]] = prev[l];
			else
				oldest = prev[l];
		} else {
			put(l);
			in[l] = 1;
			used++;
		}
		prev[l] = -1;
		next[l] = newest;
		if (newest >= 0)
			prev[newest] = l;
		newest = l;
		if (oldest < 0)
			oldest = l;
		if (used > C * .45) {
			long t = oldest;

			oldest = prev[t];
			next[oldest] = -1;
			in[t] = 0;
			used--;
		}
	}
	note_rates(&z, records, 33);
	free(prev);
	free(next);
	free(in);
	trace.from = trace.n / 3;
}

/* zipfTHETA: over 10 C */
static void zipfian(void)
{
	struct zipf z = zipf(C * 10, x ? x : .99);

	for (long i = 0; i < C * 300; i++)
		put(draw_page(&z));
	note_rates(&z, C * 10, 1);
	trace.from = trace.n / 3;
}

/* get-scan: of two thirds of the accesses, scans of 250 pages */
static void get_scan(void)
{
	struct zipf z = zipf(C * 10, .99);

	for (long i = 0; i < C * 100; i++) {
		put(draw_page(&z));
		if (i % 125 == 0)
			read_file(rnd() % (long)(C * 10 - 250), 250);
	}
	trace.from = trace.n / 3;
}

/* one-hit: as many pages that come once as zipfian ones over 2 C */
static void one_hit(void)
{
	struct zipf z = zipf(C * 2, .9);

	for (long i = 0, once = C * 2; i < C * 200; i++) {
		put(draw_page(&z));
		put(once++);
	}
	trace.from = trace.n / 3;
}

/* loopX: 30 times */
static void loop(void)
{
	for (int round = 0; round < 30; round++)
		read_file(0, C * x);
}

/* setX: 8 times */
static void set(void)
{
	for (int round = 0; round < 8; round++)
		read_file(0, C * x);
}

/* streamsX: so many, read ahead by 32 pages, beside a hot set of 1.3 C */
static void streams(void)
{
	long hot = C * 1.3, at[64] = { 0 }, many = x, accesses = C * 300, each = accesses / 8 / many + 64;
	struct zipf z = zipf(hot, .7);

	for (long i = 0; i < accesses; i++) {
		long s = i / 8 % many, p = hot + s * each + at[s];

		put(draw_page(&z));
		if (i % 8)
			continue;
		for (int j = 0; j < 32 && at[s] % 32 == 0; j++)
			put_access(p + j, true);
		put(p);
		at[s]++;
	}
}

/* churn: what is hot changes twelve times, every X C accesses */
static void churn(void)
{
	struct zipf z = zipf(C * 10, .99);

	for (long epoch = 0; epoch < 12; epoch++)
		for (long i = 0; i < C * (x ? x : 24); i++)
			put((draw_page(&z) + epoch * 1000003) % (long)(C * 10));
}

/* phasesX,N: four times a set, N times each; two sets of X C in turn */
static void phases(void)
{
	for (int phase = 0; phase < 4; phase++)
		for (int round = 0; round < (y ? y : 8); round++)
			read_file((phase & 1) * (long)C, C * (x ? x : .8));
}

/* turnsX,N: the same, twenty times, N times each */
static void turns(void)
{
	for (int turn = 0; turn < 20; turn++)
		for (int round = 0; round < (y ? y : 3); round++)
			read_file((turn & 1) * (long)(C * 2), C * x);
}

/* lagX: a reader, and another one X C behind it */
static void lag(void)
{
	long behind = C * x;

	for (long i = 0; i < C * 8; i++) {
		put(i);
		if (i >= behind)
			put(i - behind);
	}
}

/* logX: the same, after 0.85 C were in use */
static void log_(void)
{
	long behind = C * x, first = C;

	for (int round = 0; round < 5; round++)
		read_file(0, C * .85);
	for (long i = 0; i < C * 6; i++) {
		put(first + i);
		if (i >= behind)
			put(first + i - behind);
	}
}

/* shiftX: four of five accesses go to a hot set of X C of 10 C; counted from when it moves */
static void shift(void)
{
	for (long i = 0; i < C * 160; i++) {
		long first = i < C * 80 ? 0 : C * 5;

		if (i == (long)(C * 80))
			trace.from = trace.n;
		put(rnd() % 5 ? first + rnd() % (long)(C * x) : rnd() % (long)(C * 10));
	}
}

/* filesX,N: beside zipf, one file of X C after the other, each read N times */
static void files(void)
{
	long size = C * x, first = C * 10;
	struct zipf z = zipf(C * 10, .99);

	for (int file = 0; file < 12 / x; file++)
		for (int round = 0; round < (y ? y : 3); round++)
			for (long i = 0; i < size; i++) {
				put(draw_page(&z));
				put(first + file * size + i);
			}
	trace.from = trace.n / 4;
}

/* mixloopsX: three loops of .17, .33 and .5 of X C side by side */
static void mixloops(void)
{
	long a = C * x / 6, b = C * x / 3, c = C * x / 2;

	for (long i = 0; i < C * 40; i++) {
		put(i % a);
		put(a + i % b);
		put(a + b + i % c);
	}
}

/* idleX: a hot set of X C, each page of which is used once before each scan of 2 C of new pages */
static void idle(void)
{
	long hot = C * x, once = hot;

	for (int round = 0; round < 12; round++) {
		for (long i = 0; i < hot; i++)
			put((i * 7919 + round) % hot);
		for (long i = 0; i < C * 2; i++)
			put(once++);
	}
}

/* deskX: the same, and one access in 32 of the scan's is to the hot set */
static void desk(void)
{
	long hot = C * x, once = hot;

	for (int round = 0; round < 12; round++) {
		read_file(0, hot);
		for (long i = 0; i < C * 2; i++) {
			put(once++);
			if (i % 32 == 0)
				put(rnd() % hot);
		}
	}
}

/* warmX,Y: a set of X C is used five times, Y C are read once, the set is used three times more */
static void warm(void)
{
	long hot = C * x, once = hot;

	for (int round = 0; round < 8; round++) {
		read_file(0, hot);
		for (; round == 4 && once < hot + C * y; once++)
			put(once);
	}
}

/* uniformX: over X C */
static void uniform_(void)
{
	for (long i = 0; i < C * 100; i++)
		put(rnd() % (long)(C * x));
	trace.from = trace.n / 3;
}

/* driftX: uniform over X C, which move on by a page in eight accesses */
static void drift(void)
{
	for (long i = 0; i < C * 100; i++)
		put(i / 8 + rnd() % (long)(C * x));
}

/* stackX: as long ago as 1 to X C accesses (log-uniform) what is used now was used, or never, one in ten */
static void stack(void)
{
	long once = 0;

	for (long i = 0; i < C * 200; i++) {
		long ago = exp(uniform() * log(C * x));

		if (i <= ago || rnd() % 10 == 0)
			put(once++);
		else
			put(trace.access[trace.n - 1 - ago] / 2 - base);
	}
}

/* sawX: over X C, to and fro */
static void saw(void)
{
	long size = C * x;

	for (int round = 0; round < 20; round++)
		for (long i = 0; i < size; i++)
			put(round & 1 ? size - 1 - i : i);
}

/* buildX: files of X C that are used five times soon after one another, and no more, beside zipf over C */
static void build(void)
{
	struct zipf z = zipf(C, .8);
	long size = C * x, first = C;

	for (int file = 0; file < 30 / x; file++)
		for (int round = 0; round < 5; round++)
			for (long i = 0; i < size; i++) {
				put(first + file * size + i);
				if (i % 2)
					put(draw_page(&z));
			}
}

/* backupX: zipf over 4 C, all of which is read once after X C accesses, four times */
static void backup(void)
{
	struct zipf z = zipf(C * 4, .99);

	for (int times = 0; times < 4; times++) {
		for (long i = 0; i < C * x; i++)
			put(draw_page(&z));
		read_file(0, C * 4);
	}
	trace.from = C * x / 2;
}

/* grow: a loop that grows from 0.5 C to 1.5 C, and back */
static void grow(void)
{
	for (int round = 0; round < 60; round++)
		read_file(0, C * (round < 30 ? .5 + round / 30. : 1.5 - (round - 30) / 30.));
}

/* latestX: what is new is hot (YCSB-D): pages are added, one in X accesses; zipf, counted from the newest */
static void latest(void)
{
	struct zipf z = zipf(C * 10, .99);
	long newest = C * 10;

	for (long i = 0; i < C * 200; i++) {
		if (i % (long)x == 0)
			put(newest++);
		put(newest - 1 - draw(&z));
	}
	trace.from = trace.n / 4;
}

/* besideX: a loop of X C beside zipf over 2 C */
static void beside(void)
{
	struct zipf z = zipf(C * 2, .9);

	for (long i = 0; i < C * 100; i++) {
		put(draw_page(&z));
		put((long)(C * 2) + i % (long)(C * x));
	}
}

/* flood: zipf over 4 C, and for a quarter of the time a flood of pages that come once */
static void flood(void)
{
	struct zipf z = zipf(C * 4, .9);
	long once = C * 4;

	for (int round = 0; round < 10; round++)
		for (long i = 0; i < C * 12; i++)
			put(i > C * 9 && i % 8 ? once++ : draw_page(&z));
}

/*
 * mixN+ACTOR+ACTOR...: N C accesses, dealt out among actors by their weights. An actor is a letter
 * and SIZE,WEIGHT[,A[,B]], sizes being parts of C, and has pages of its own:
 *	L	a loop
 *	U	uniform
 *	Z	zipfian, of theta A (0.9)
 *	O	pages that come once
 *	G	new pages, each read once more SIZE later
 *	S	to and fro
 *	B	files of SIZE, each read A times, then the next one
 *	T	A sets in turn, B rounds each
 *	P	A zipfian sets (0.8) in turn, B C accesses each
 *	D	uniform, moving on by a page in A accesses (8)
 */
struct actor {
	char kind;
	double size, weight, a, b;
	long pages, first, at, newest;
	struct zipf z;
	double credit;
};

/* Returns what follows it in the name. */
static const char *read_actor(const char *name, struct actor *actor)
{
	double *values[] = { &actor->size, &actor->weight, &actor->a, &actor->b };
	int used;

	*actor = (struct actor){ .kind = *name++, .weight = 1 };
	for (int i = 0; i < 4 && sscanf(name, "%lf%n", values[i], &used) == 1; i++) {
		name += used;
		if (*name != ',')
			break;
		name++;
	}
	if (!actor->a)
		actor->a = actor->kind == 'Z' ? .9 : actor->kind == 'D' ? 8 : 1;
	if (!actor->b)
		actor->b = 1;
	actor->pages = C * actor->size > 1 ? C * actor->size : 1;
	if (strchr("ZP", actor->kind))
		actor->z = zipf(actor->pages, actor->kind == 'Z' ? actor->a : .8);
	return name;
}

/* How many pages it may use in so many accesses. */
static long pages_of(const struct actor *actor, long accesses)
{
	if (strchr("OGBD", actor->kind))
		return accesses + actor->pages;
	return strchr("TP", actor->kind) ? actor->pages * actor->a : actor->pages;
}

/* The next page of an actor, from its first one; -1: there is no such kind. */
static long next_page(struct actor *q)
{
	long at = q->at++, round = at / q->pages, in = at % q->pages;

	switch (q->kind) {
	case 'L':
		return in;
	case 'U':
		return rnd() % q->pages;
	case 'Z':
		return draw_page(&q->z);
	case 'O':
		return at;
	case 'G':
		return q->newest < q->pages || at % 2 == 0 ? q->newest++ : q->newest - q->pages;
	case 'S':
		return round % 2 ? q->pages - 1 - in : in;
	case 'B':
		return round / (long)q->a * q->pages + in;
	case 'T':
		return round / (long)q->b % (long)q->a * q->pages + in;
	case 'D':
		return at / (long)q->a + rnd() % q->pages;
	case 'P':
		return at / (long)(C * q->b) % (long)q->a * q->pages + draw_page(&q->z);
	default:
		return -1;
	}
}

static struct actor *whose_turn(struct actor *actors, int nr, double weights)
{
	struct actor *best = actors;

	for (struct actor *q = actors; q < actors + nr; q++) {
		q->credit += q->weight;
		if (q->credit > best->credit)
			best = q;
	}
	best->credit -= weights;
	return best;
}

static bool mixed(const char *name)
{
	struct actor actors[8];
	double length, weights = 0;
	int nr = 0, used;
	long first = 0;

	if (sscanf(name, "%lf%n", &length, &used) != 1)
		return false;
	for (name += used; *name == '+' && nr < 8; nr++) {
		name = read_actor(name + 1, &actors[nr]);
		actors[nr].first = first;
		first += pages_of(&actors[nr], C * length);
		weights += actors[nr].weight;
	}
	for (long i = 0; nr && i < C * length; i++) {
		struct actor *q = whose_turn(actors, nr, weights);
		long page = next_page(q);

		if (page < 0)
			return false;
		put(q->first + page);
	}
	return nr && !*name;
}

static bool make(const char *name);

/* then-X */
static bool then(const char *name)
{
	struct zipf z = zipf(C * 10, .99);
	long from;

	for (long i = 0; i < C * 150; i++)
		put(draw_page(&z));
	from = trace.n;
	base += C * 10;
	if (!make(name))
		return false;
	trace.from = from;
	return true;
}

/* loop-then-X */
static bool loop_then(const char *name)
{
	long from;

	for (int round = 0; round < 20; round++)
		read_file(0, C * 1.2);
	from = trace.n;
	base += C * 1.2 + 1;
	if (!make(name))
		return false;
	trace.from = from;
	return true;
}

static const struct {
	const char *name;
	void (*make)(void);
	bool (*after)(const char *name);
} families[] = {
	{ "database", database, NULL }, { "zipf", zipfian, NULL }, { "get-scan", get_scan, NULL },
	{ "one-hit", one_hit, NULL }, { "loop-then-", NULL, loop_then }, { "then-", NULL, then },
	{ "loop", loop, NULL }, { "set", set, NULL }, { "streams", streams, NULL },
	{ "churn", churn, NULL }, { "phases", phases, NULL }, { "turns", turns, NULL },
	{ "lag", lag, NULL }, { "log", log_, NULL }, { "shift", shift, NULL },
	{ "files", files, NULL }, { "mixloops", mixloops, NULL }, { "idle", idle, NULL },
	{ "desk", desk, NULL }, { "warm", warm, NULL }, { "uniform", uniform_, NULL }, { "drift", drift, NULL },
	{ "stack", stack, NULL }, { "saw", saw, NULL }, { "build", build, NULL },
	{ "backup", backup, NULL }, { "grow", grow, NULL }, { "latest", latest, NULL },
	{ "beside", beside, NULL }, { "flood", flood, NULL }, { "mix", NULL, mixed },
};

static bool make(const char *name)
{
	for (unsigned i = 0; i < sizeof(families) / sizeof(*families); i++) {
		size_t length = strlen(families[i].name);

		if (strncmp(name, families[i].name, length))
			continue;
		if (families[i].after)
			return families[i].after(name + length);
		x = y = 0;
		if (name[length] && sscanf(name + length, "%lf,%lf", &x, &y) < 1)
			continue;
		families[i].make();
		return true;
	}
	return false;
}

bool make_pattern(const char *name, int pages)
{
	C = pages;
	trace.n = trace.from = trace.pages = base = 0;
	trace.rate = NULL;
	state = 88172645463325252ULL;
	if (!make(name))
		return false;
	trace.to = trace.n;
	return true;
}

const char *const train[] = {
	"database", "zipf", "zipf0.8", "get-scan", "one-hit", "loop1.02", "loop1.2", "loop1.9",
	"streams4", "streams16", "streams24", "streams32", "churn", "phases", "turns0.6",
	"lag0.02", "lag0.1", "lag0.5", "log0.05", "log0.3", "shift0.5", "files0.3,3", "mixloops1.1",
	"idle0.5", "desk0.4", "uniform1.5", "drift0.8", "then-lag0.1", "then-lag0.5", "then-log0.15",
	"then-set0.5", "then-set0.8", "then-set0.98", "then-zipf", 0
};

const char *const validate[] = {
	"zipf0.6", "zipf0.9", "zipf1.1", "loop1.05", "loop1.5", "streams8", "churn8", "phases0.9,4", "turns0.9",
	"lag0.25", "lag0.9", "log0.15", "log0.6", "shift0.8", "files0.1,2", "files0.7,4", "mixloops1.6",
	"mixloops0.95", "idle0.7", "desk0.7", "uniform1.1", "uniform3", "drift1.2", "stack16", "saw1.2",
	"build0.05", "backup40", "grow", "latest20", "beside0.6", "flood", "then-lag0.03", "then-lag0.25",
	"then-log0.4", "then-set0.9", "then-set1.02", "then-loop1.2", "then-shift0.5", "then-turns0.5",
	"loop-then-set0.8", "loop-then-zipf", "loop-then-lag0.2", 0
};
