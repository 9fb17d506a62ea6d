// SPDX-License-Identifier: GPL-2.0-only
/*
 * Patterns of access to memory, put together from actors:
 *
 *	patterns [--seed N] [--join] ACTOR... [--then|--begin ACTOR...]...
 *
 * The actors of a phase run at the same time. It ends when all those have ended
 * that have an end; the others are stopped. --then is where the next phase
 * begins, --begin as well, and there the counters' phase "begin": what is before
 * it is warm-up. "end" is sent after the last phase. With --join the program
 * first moves into the cgroup under test.
 *
 * An actor is one argument, "KIND KEY=VALUE ...":
 *
 *	scan	reads (or writes) a range in blocks, from its first to its last
 *	random	uses blocks of a range in random order, some more often than others
 *	shell	runs what comes after " -- " by /bin/sh
 *
 * Of all kinds
 *	name=NAME	report NAME_seconds, how long it took, and, except of a
 *			shell, NAME_ops and the latencies of each block
 * Of scan and random
 *	file=PATH	what is used: a file ...
 *	anon=NAME	... or anonymous memory; the same name is the same memory
 *	how=HOW		a file is used by read (pread, the default), write
 *			(pwrite; made if it is not there), map (through a
 *			mapping) or text (through one that is executable)
 *	advice=ADVICE	normal, random or sequential: posix_fadvise() or madvise()
 *	at_mb=N mb=N	the range
 *	block_kb=N	of an access: 128 for scan, else 4
 *	threads=N	1; the threads of a scan divide the range among them
 *	think_us=N	pause after each block: 10; batch=N: N pauses at a time
 *	ms=N		it ends after so long
 * Of scan
 *	rounds=N	it ends after so many: 1; 0: it has no end
 *	behind=NAME lag_mb=N	never nearer than that to that scan (which is in the
 *			same phase), but when that has ended
 *	sync=N		fdatasync() after so many blocks
 * Of random
 *	ops=N		it ends after so many accesses of each thread; 0: it has no end
 *	theta=X		skew, from 0 (uniform, the default) to 0.99 (zipfian)
 *	shift=N		after so many accesses of a thread other blocks are the hot ones
 *	sets=N turn=N	the range is so many sets; a thread uses one of them for that
 *			many accesses, then the next one
 */
#include "patterns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "lab.h"

#define MAX_OPERATIONS (1 << 21)
#define MAX_NUMBER (1UL << 32)
#define SEEDS_A_THREAD 1000

static struct actor actors[MAX_ACTORS];
static unsigned int nr_actors, nr_phases = 1, measured_phase;
static uint64_t seed = 1;
static int join;
static atomic_uint phase_over;

static void __attribute__((noreturn)) usage(const char *problem, const char *word)
{
	errno = 0;
	lab_die("patterns: %s%s; see guest/drivers/patterns.c", problem, word);
}

static int set_text(struct actor *actor, const char *key, const char *value)
{
	const struct {
		const char *key, **text;
	} texts[] = {
		{ "name", &actor->name }, { "file", &actor->file },
		{ "anon", &actor->anon }, { "advice", &actor->advice },
		{ "behind", &actor->behind_name },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (!strcmp(key, texts[i].key)) {
			*texts[i].text = value;
			return 1;
		}
	}
	return 0;
}

static int set_number(struct actor *actor, const char *key, const char *value)
{
	const struct {
		const char *key;
		uint64_t *number;
	} numbers[] = {
		{ "at_mb", &actor->at_mb }, { "mb", &actor->mb },
		{ "block_kb", &actor->block_kb }, { "threads", &actor->threads },
		{ "think_us", &actor->think_us }, { "batch", &actor->batch },
		{ "rounds", &actor->rounds }, { "ops", &actor->ops },
		{ "ms", &actor->ms }, { "shift", &actor->shift },
		{ "sets", &actor->sets }, { "turn", &actor->turn },
		{ "lag_mb", &actor->lag_mb }, { "sync", &actor->sync },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (!strcmp(key, numbers[i].key)) {
			*numbers[i].number = lab_number(value, MAX_NUMBER);
			return 1;
		}
	}
	return 0;
}

static void set_how(struct actor *actor, const char *value)
{
	static const char *const names[] = {
		[READ] = "read", [WRITE] = "write", [MAP] = "map", [TEXT] = "text",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(value, names[i])) {
			actor->how = i;
			return;
		}
	}
	usage("how is read, write, map or text, not ", value);
}

static void set_theta(struct actor *actor, const char *value)
{
	char *end;

	actor->theta = strtod(value, &end);
	if (end == value || *end || !(actor->theta >= 0 && actor->theta <= 0.99))
		usage("theta is from 0 to 0.99, not ", value);
}

static void set(struct actor *actor, char *word)
{
	char *value = strchr(word, '=');

	if (!value || !value[1])
		usage("not KEY=VALUE: ", word);
	*value++ = '\0';
	if (!strcmp(word, "how"))
		set_how(actor, value);
	else if (!strcmp(word, "theta"))
		set_theta(actor, value);
	else if (!set_text(actor, word, value) && !set_number(actor, word, value))
		usage("unknown key ", word);
}

static enum kind parse_kind(const char *word)
{
	static const char *const names[] = {
		[SCAN] = "scan", [RANDOM] = "random", [SHELL] = "shell",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(word, names[i]))
			return i;
	}
	usage("no actor is called ", word);
}

/* Splits the text, which is the program's own argument. */
static void parse_actor(char *text)
{
	char *command = strstr(text, " -- "), *state, *word;
	struct actor *actor = actors + nr_actors;

	if (nr_actors == MAX_ACTORS)
		usage("too many actors: ", text);
	if (command) {
		*command = '\0';
		command += strlen(" -- ");
	}
	word = strtok_r(text, " \n", &state);
	if (!word)
		usage("an actor without a kind", "");
	*actor = (struct actor){
		.kind = parse_kind(word), .phase = nr_phases - 1, .command = command,
		.threads = 1, .think_us = 10, .batch = 1, .rounds = 1, .sets = 1,
	};
	actor->block_kb = actor->kind == SCAN ? 128 : 4;
	while ((word = strtok_r(NULL, " \n", &state)))
		set(actor, word);
	if (!actor->command != (actor->kind != SHELL))
		usage("a shell, and nothing else, has a command after \" -- \"", "");
	nr_actors++;
}

static void next_phase(void)
{
	if (!nr_actors || actors[nr_actors - 1].phase != nr_phases - 1)
		usage("a phase without actors", "");
	nr_phases++;
}

static void parse(char **argv)
{
	while (*++argv) {
		if (!strcmp(*argv, "--join")) {
			join = 1;
		} else if (!strcmp(*argv, "--seed")) {
			if (!*++argv)
				usage("no value for --seed", "");
			seed = lab_number(*argv, UINT64_MAX / SEEDS_A_THREAD - 1);
		} else if (!strcmp(*argv, "--then")) {
			next_phase();
		} else if (!strcmp(*argv, "--begin")) {
			if (measured_phase)
				usage("more than one --begin", "");
			next_phase();
			measured_phase = nr_phases - 1;
		} else if (!strncmp(*argv, "--", 2)) {
			usage("unknown option ", *argv);
		} else {
			parse_actor(*argv);
		}
	}
	next_phase();
	nr_phases--;
}

static int ends(const struct actor *actor)
{
	if (actor->ms || actor->kind == SHELL)
		return 1;
	return actor->kind == SCAN ? actor->rounds != 0 : actor->ops != 0;
}

/* How many latencies it may have. */
static size_t operations(const struct actor *actor)
{
	uint64_t each = actor->ops;

	if (actor->kind == SCAN)
		return actor->rounds ? actor->rounds * (actor->mb * MB / (actor->block_kb << 10)) :
				       MAX_OPERATIONS;
	return each ? each * actor->threads : MAX_OPERATIONS;
}

static void find_leader(struct actor *actor)
{
	if (!actor->behind_name)
		return;
	for (struct actor *other = actors; other < actors + nr_actors; other++) {
		if (other->name && !strcmp(other->name, actor->behind_name) &&
		    other->phase == actor->phase && other != actor && other->kind == SCAN &&
		    other->threads == 1)
			actor->behind = other;
	}
	if (!actor->behind || actor->kind != SCAN || actor->threads != 1)
		usage("behind= needs two scans of one thread and one phase: ", actor->behind_name);
}

static void check_phases(void)
{
	for (unsigned int phase = 0; phase < nr_phases; phase++) {
		int end = 0;

		for (unsigned int i = 0; i < nr_actors; i++)
			end |= actors[i].phase == phase && ends(actors + i);
		if (!end)
			usage("a phase in which nothing ends", "");
	}
}

static void prepare(void)
{
	check_phases();
	for (struct actor *actor = actors; actor < actors + nr_actors; actor++) {
		if (actor->kind == SHELL)
			continue;
		access_prepare(actor);
		find_leader(actor);
		if (!actor->name)
			continue;
		if (operations(actor) > MAX_OPERATIONS)
			usage("too many accesses to measure: ", actor->name);
		latencies_init(&actor->latencies, operations(actor));
	}
}

static int is_over(const struct actor *actor)
{
	if (actor->ms && lab_now_ns() - actor->begin_ns >= actor->ms * NSEC_PER_MSEC)
		return 1;
	return !ends(actor) && phase_over > actor->phase;
}

static void wait_behind(const struct thread *thread)
{
	const struct actor *actor = thread->actor;
	uint64_t wanted = ((thread->count + 1) * actor->block_kb << 10) + actor->lag_mb * MB;

	while (actor->behind->position < wanted && !is_over(actor))
		lab_sleep_ns(actor->think_us * NSEC_PER_USEC);
}

/* From the end of the one before, if nothing is between: a look at the clock is as dear as a read. */
static void measure(struct thread *thread)
{
	uint64_t now = lab_now_ns();

	latencies_add(&thread->actor->latencies, now - thread->since);
	thread->since = now;
}

static void one_access(struct thread *thread, size_t page)
{
	struct actor *actor = thread->actor;

	if (actor->behind)
		wait_behind(thread);
	if (actor->name && (actor->behind || thread->count % actor->batch == 0))
		thread->since = lab_now_ns();
	access_block(thread, page);
	if (actor->name)
		measure(thread);
	thread->count++;
	actor->position += actor->block_kb << 10;
	if (thread->count % actor->batch == 0)
		lab_sleep_ns(actor->batch * actor->think_us * NSEC_PER_USEC);
}

static void *act(void *argument)
{
	struct thread *thread = argument;
	struct actor *actor = thread->actor;
	size_t page;

	/* What it follows may make the file. */
	if (actor->behind)
		wait_behind(thread);
	access_open(thread);
	while (!is_over(actor) && access_next(thread, &page))
		one_access(thread, page);
	access_close(thread);
	/* The last one of them has the actor's time. */
	if (--actor->running == 0) {
		actor->nsec = lab_now_ns() - actor->begin_ns;
		actor->position = UINT64_MAX;
	}
	free(thread);
	return NULL;
}

static void *run_shell(void *argument)
{
	struct thread *thread = argument;
	struct actor *actor = thread->actor;
	pid_t child = child_fork();
	int status;

	if (!child) {
		child_offer();
		child_become_shell("-ec", actor->command);
	}
	status = child_wait(child);
	if (!child_was_killed(status))
		child_check(status, "patterns: '%s'", actor->command);
	/* What was killed for want of memory did not take the time that its work takes. */
	actor->nsec = status ? 0 : lab_now_ns() - actor->begin_ns;
	free(thread);
	return NULL;
}

static void start_thread(struct actor *actor, uint64_t number)
{
	static uint64_t all;
	struct thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		lab_die("no memory for a thread");
	*thread = (struct thread){
		.actor = actor, .number = number, .fd = -1,
		.random = seed * SEEDS_A_THREAD + ++all,
	};
	errno = pthread_create(actor->handles + number, NULL,
			       actor->kind == SHELL ? run_shell : act, thread);
	if (errno)
		lab_die("cannot start a thread");
}

static void start(struct actor *actor)
{
	actor->begin_ns = lab_now_ns();
	actor->running = actor->threads;
	for (uint64_t i = 0; i < actor->threads; i++)
		start_thread(actor, i);
}

static void wait_for(unsigned int phase, int with_end)
{
	for (struct actor *actor = actors; actor < actors + nr_actors; actor++) {
		if (actor->phase != phase || ends(actor) != with_end)
			continue;
		for (uint64_t i = 0; i < actor->threads; i++)
			pthread_join(actor->handles[i], NULL);
	}
}

static void run_phase(unsigned int phase)
{
	if (phase && phase == measured_phase)
		lab_counters("begin");
	for (struct actor *actor = actors; actor < actors + nr_actors; actor++) {
		if (actor->phase == phase)
			start(actor);
	}
	wait_for(phase, 1);
	phase_over = phase + 1;
	wait_for(phase, 0);
}

static void metric(const struct actor *actor, const char *what, double value)
{
	char name[128];

	snprintf(name, sizeof(name), "%s_%s", actor->name, what);
	lab_metric(name, value);
}

static void report(struct actor *actor)
{
	if (actor->nsec)
		metric(actor, "seconds", actor->nsec / (double)NSEC_PER_SEC);
	if (actor->kind == SHELL)
		return;
	metric(actor, "ops", atomic_load(&actor->latencies.count));
	latencies_report(&actor->latencies, actor->name);
}

int main(int argc, char **argv)
{
	(void)argc;
	lab_open();
	parse(argv);
	lab_give_way();
	prepare();
	if (join)
		lab_join();
	for (unsigned int phase = 0; phase < nr_phases; phase++)
		run_phase(phase);
	if (measured_phase)
		lab_counters("end");
	for (struct actor *actor = actors; actor < actors + nr_actors; actor++) {
		if (actor->name)
			report(actor);
	}
	return 0;
}
