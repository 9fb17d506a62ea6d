/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Misses of page cache policies on patterns of access.
 *
 *   cc -O2 *.c -o simulate -lm
 *   ./simulate [-p POLICY[:PARAM=VALUE,...]]... [-c PAGES]... [-s train|validate|all] [-r] [PATTERN...]
 *
 * A pattern is the name of a generated one (see patterns.c) or FILE:PAGES:MEASURED, a recorded
 * trace. -c: sizes of the cache for generated ones (default 4096). -r: a line for each pattern and policy,
 * columns: pattern, pages of cache, policy, accesses counted, misses, what it adapted at the end.
 * Else a table: misses as a part of plain LRU's; the last lines are the geometric mean, and the
 * worst and how many are above 1.02, compared with the better of lru and classic.
 * The cache is full when it holds so many pages; then 32 are to be evicted, as by the kernel.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patterns.h"
#include "sim.h"

#define MANY 64
#define HARM 1.02

struct folio *folios;
int capacity;
int resident;

static struct policy *all;

/* A policy with values for its parameters. */
struct variant {
	const struct policy *policy;
	const char *label;
	const char *settings;
	double log_sum, worst;
	char worst_at[64];
	int harmed;
};

static struct variant variants[MANY];
static int nr_variants, nr_patterns;
static bool raw;

void policy_register(struct policy *policy)
{
	policy->next = all;
	all = policy;
}

static const struct policy *find(const char *name, size_t length)
{
	const struct policy *policy = all;

	while (policy && (strlen(policy->name) != length || strncmp(policy->name, name, length)))
		policy = policy->next;
	return policy;
}

static void fail(const char *what, const char *which)
{
	fprintf(stderr, "%s: %s\n", what, which);
	for (const struct policy *policy = all; policy && *what == 'p'; policy = policy->next)
		fprintf(stderr, "  %-12s %s\n", policy->name, policy->about);
	exit(2);
}

static void add_variant(const char *text)
{
	size_t length = strcspn(text, ":");
	struct variant *v = &variants[nr_variants];

	if (nr_variants == MANY)
		fail("too many policies", text);
	v->policy = find(text, length);
	v->label = text;
	v->settings = text[length] ? text + length + 1 : "";
	if (!v->policy)
		fail("policy unknown; there are", text);
	nr_variants++;
}

static double *value_of(const struct policy *policy, const char *name, size_t length)
{
	for (const struct param *p = policy->params; p && p->name; p++)
		if (strlen(p->name) == length && !strncmp(p->name, name, length))
			return p->value;
	return NULL;
}

/* Set parameters, keeping what they were; or put back what was kept. */
static void settings(const struct variant *v, double *kept, bool back)
{
	int i = 0;

	for (const char *s = v->settings; *s; s += strcspn(s, ","), s += *s == ',') {
		size_t length = strcspn(s, "=,");
		double *value = value_of(v->policy, s, length);

		if (!value || s[length] != '=' || i == MANY)
			fail("no such parameter", s);
		if (back) {
			*value = kept[i++];
			continue;
		}
		kept[i++] = *value;
		*value = atof(s + length + 1);
	}
}

static long run_trace(const struct policy *policy)
{
	long misses = 0;

	policy->init();
	for (long i = 0; i < trace.n; i++) {
		int p = trace.access[i] >> 1;
		bool ahead = trace.access[i] & 1;

		if (folios[p].list) {
			if (!ahead)
				policy->hit(p);
			continue;
		}
		misses += i >= trace.from && i < trace.to;
		if (resident >= capacity)
			policy->evict(BATCH);
		policy->insert(p, ahead);
	}
	return misses;
}

static long misses_of(const struct variant *v, double *share)
{
	const struct policy *policy = v->policy;
	double kept[MANY];
	long misses;

	resident = 0;
	settings(v, kept, false);
	memset(folios, 0, sizeof(*folios) * trace.pages);
	misses = policy->misses ? policy->misses() : run_trace(policy);
	*share = policy->share ? policy->share() : NAN;
	settings(v, kept, true);
	return misses;
}

static void note(struct variant *v, const char *name, double ratio, double best)
{
	v->log_sum += log(ratio);
	v->harmed += ratio / best > HARM;
	if (ratio / best > v->worst) {
		v->worst = ratio / best;
		snprintf(v->worst_at, sizeof(v->worst_at), "%s/%d", name, capacity);
	}
}

static void simulate(const char *name)
{
	static const struct variant lru = { .settings = "" };
	struct variant plain = lru, classic = lru;
	const char *slash = strrchr(name, '/');
	double share, base, best;

	name = slash ? slash + 1 : name;
	folios = realloc(folios, sizeof(*folios) * (trace.pages + 1));
	plain.policy = find("lru", 3);
	classic.policy = find("classic", 7);
	base = misses_of(&plain, &share);
	best = base ? misses_of(&classic, &share) / base : 1;
	best = best < 1 ? best : 1;
	base = base ? base : 1;
	if (!raw)
		printf("%-18.18s %6d", name, capacity);
	for (int i = 0; i < nr_variants; i++) {
		struct variant *v = &variants[i];
		long misses = misses_of(v, &share);

		note(v, name, misses / base, best);
		if (raw)
			printf("%s\t%d\t%s\t%ld\t%ld\t%.4f\n", name, capacity, v->label, trace.to - trace.from, misses, share);
		else
			printf("  %7.3f%c%4.2f", misses / base, misses / base / best > HARM ? '!' : ' ', isnan(share) ? 0 : share);
	}
	if (!raw)
		puts("");
	fflush(stdout);
	nr_patterns++;
}

static void run(const char *name, const int *sizes, int nr_sizes)
{
	if (strchr(name, ':')) {
		capacity = load_trace(name);
		if (!capacity)
			fail("no such trace, or not FILE:PAGES:MEASURED", name);
		simulate(name);
		return;
	}
	for (int i = 0; i < nr_sizes; i++) {
		capacity = sizes[i];
		if (!make_pattern(name, capacity))
			fail("no such pattern", name);
		simulate(name);
	}
}

static void summary(void)
{
	printf("%-25s", "geometric mean");
	for (int i = 0; i < nr_variants; i++)
		printf("  %7.3f     ", exp(variants[i].log_sum / nr_patterns));
	printf("\n%-25s", "worst, to the better");
	for (int i = 0; i < nr_variants; i++)
		printf("  %7.3f     ", variants[i].worst);
	printf("\n%-25s", "how many above 1.02");
	for (int i = 0; i < nr_variants; i++)
		printf("  %7d     ", variants[i].harmed);
	puts("");
	for (int i = 0; i < nr_variants; i++)
		printf("  %s: worst at %s\n", variants[i].label, variants[i].worst_at);
}

static void run_set(const char *set, const int *sizes, int nr_sizes)
{
	if (strcmp(set, "validate"))
		for (const char *const *name = train; *name; name++)
			run(*name, sizes, nr_sizes);
	if (strcmp(set, "train"))
		for (const char *const *name = validate; *name; name++)
			run(*name, sizes, nr_sizes);
}

int main(int argc, char **argv)
{
	const char *set = "train";
	int sizes[MANY], nr_sizes = 0, option;

	while ((option = getopt(argc, argv, "p:c:s:r")) != -1) {
		if (option == 'p')
			add_variant(optarg);
		else if (option == 'c' && nr_sizes < MANY && atoi(optarg) >= 256)
			sizes[nr_sizes++] = atoi(optarg);
		else if (option == 's')
			set = optarg;
		else if (option == 'r')
			raw = true;
		else
			fail("usage", "simulate [-p POLICY]... [-c PAGES]... [-s train|validate|all] [-r] [PATTERN...]");
	}
	if (!nr_sizes)
		sizes[nr_sizes++] = 4096;
	if (!nr_variants) {
		add_variant("classic");
		add_variant("multigen");
		add_variant("adaptive");
	}
	for (int i = 0; i < nr_variants && !raw; i++)
		printf("%s%-12.12s", i ? "  " : "                           ", variants[i].label);
	if (!raw)
		puts("");
	for (int i = optind; i < argc; i++)
		run(argv[i], sizes, nr_sizes);
	if (optind == argc)
		run_set(set, sizes, nr_sizes);
	if (!raw)
		summary();
	return 0;
}
