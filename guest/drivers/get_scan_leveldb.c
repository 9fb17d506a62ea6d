// SPDX-License-Identifier: GPL-2.0-only
/*
 * GETs and long scans at once over LevelDB:
 *
 *	get_scan_leveldb load --home DIR --records N [--value-bytes N] [--seed N]
 *	get_scan_leveldb run --home DIR --trace FILE [--get-threads N] [--scan-threads N]
 *		[--get-think-us N] [--scan-think-us N] [--cache-kb N] [--warmup N]
 *		[--value-bytes N] [--mixed]
 *
 * `load` runs on the host and makes the database; keys are 16 characters, in
 * the order of their numbers. `run` carries out a trace: some threads claim its
 * reads, one after another, while the others carry out its scans, again and
 * again, until no read is left. What is measured lies after the first --warmup
 * reads. With --mixed the threads for reads carry out all operations of the trace, and none
 * are for scans.
 */
#include <errno.h>
#include <getopt.h>
#include <leveldb/c.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab.h"
#include "latency.h"
#include "trace.h"

#define KEY_BYTES 16
/* Records of one table while loading: each is flushed before the next begins. */
#define BATCH 8192
#define WRITE_BUFFER_BYTES (64UL << 20)
#define SETTLE_NS (200 * 1000 * NSEC_PER_USEC)
#define OPEN_FILES 4096
/* Room for the latencies of scans. */
#define MAX_SCANS 1000000

/*
 * leveldb::EnvPosixTestHelper's static members, which have no interface in C:
 * how many tables are mapped into memory, and how many stay open. Tables are
 * read, not mapped, as LevelDB does with those beyond its first thousand.
 */
void set_mmap_limit(int limit) __asm__(
	"_ZN7leveldb18EnvPosixTestHelper20SetReadOnlyMMapLimitEi");
void set_file_limit(int limit) __asm__(
	"_ZN7leveldb18EnvPosixTestHelper18SetReadOnlyFDLimitEi");

static struct options {
	const char *home;
	const char *trace;
	unsigned long records;
	unsigned long value_bytes;
	unsigned long seed;
	unsigned long get_threads;
	unsigned long scan_threads;
	unsigned long get_think_us;
	unsigned long scan_think_us;
	unsigned long cache_kb;
	unsigned long warmup;
	bool mixed;
} options = {
	.value_bytes = 200,
	.get_threads = 3,
	.scan_threads = 1,
	.get_think_us = 10,
	.scan_think_us = 1000,
	.cache_kb = 128,
};

static leveldb_t *database;
static leveldb_readoptions_t *read_options;
static leveldb_writeoptions_t *write_options;
/* The trace's reads (with --mixed all), and its scans, as indices of it. */
static struct trace trace;
static size_t *gets, *scans, get_count, scan_count;
static struct latencies get_latencies, scan_latencies;
static atomic_size_t next_get, next_scan, scans_done;
static atomic_bool measured, finished;
static pthread_barrier_t phase_barrier;

static void check(char *error, const char *what)
{
	if (!error)
		return;
	errno = 0;
	lab_die("%s: %s", what, error);
}

static void make_key(char key[KEY_BYTES + 1], uint32_t number)
{
	snprintf(key, KEY_BYTES + 1, "user%012u", number);
}

static void open_database(bool create)
{
	leveldb_options_t *config = leveldb_options_create();
	char *error = NULL;

	leveldb_options_set_create_if_missing(config, create);
	/* The values do not compress anyway. */
	leveldb_options_set_compression(config, leveldb_no_compression);
	leveldb_options_set_max_open_files(config, OPEN_FILES);
	leveldb_options_set_cache(config, leveldb_cache_create_lru(options.cache_kb << 10));
	/* A load flushes by itself, so that no table depends on the speed of a thread. */
	if (create)
		leveldb_options_set_write_buffer_size(config, WRITE_BUFFER_BYTES);
	database = leveldb_open(config, options.home, &error);
	check(error, "leveldb_open");
}

/* -- load ---------------------------------------------------------------- */

static void load_batch(uint32_t first, uint32_t end, char *value)
{
	leveldb_writeoptions_t *config = leveldb_writeoptions_create();
	char from[KEY_BYTES + 1], key[KEY_BYTES + 1];
	char *error = NULL;

	make_key(from, first);
	for (uint32_t number = first; number < end; number++) {
		make_key(key, number);
		trace_fill(value, options.value_bytes, number, options.seed);
		leveldb_put(database, config, key, KEY_BYTES, value, options.value_bytes, &error);
		check(error, "put");
	}
	/* Flushes, and waits for it. */
	leveldb_compact_range(database, from, KEY_BYTES, key, KEY_BYTES);
	leveldb_writeoptions_destroy(config);
}

/* Wait until LevelDB moves no more tables between its levels in the background. */
static void settle(void)
{
	char *before = leveldb_property_value(database, "leveldb.sstables"), *after;
	bool same;

	do {
		lab_sleep_ns(SETTLE_NS);
		after = leveldb_property_value(database, "leveldb.sstables");
		same = before && after && !strcmp(before, after);
		leveldb_free(before);
		before = after;
	} while (!same);
	leveldb_free(after);
}

/* LevelDB's own log has times and thread numbers in it. */
static void remove_log(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", options.home, name);
	if (unlink(path) && errno != ENOENT)
		lab_die("cannot remove %s", path);
}

static void load(void)
{
	char *value = malloc(options.value_bytes);

	/* On the host there is no channel: errors go to the terminal. */
	setenv("MGLRU_CHANNEL", "/dev/stderr", 0);
	lab_open();
	open_database(true);
	for (uint32_t first = 0; first < options.records; first += BATCH) {
		uint32_t end = first + BATCH;

		load_batch(first, end < options.records ? end : options.records, value);
	}
	settle();
	leveldb_close(database);
	/* Opened again, it writes a manifest of what there is, without how it came to that. */
	open_database(true);
	leveldb_close(database);
	free(value);
	remove_log("LOG");
	remove_log("LOG.old");
}

/* -- run ----------------------------------------------------------------- */

static void get(const struct trace_record *op)
{
	char key[KEY_BYTES + 1], *error = NULL, *value;
	size_t length;

	make_key(key, op->key);
	value = leveldb_get(database, read_options, key, KEY_BYTES, &length, &error);
	check(error, "get");
	errno = 0;
	if (!value || length != options.value_bytes)
		lab_die("the record %s is missing or too short", key);
	leveldb_free(value);
}

static void scan(const struct trace_record *op)
{
	leveldb_iterator_t *at = leveldb_create_iterator(database, read_options);
	char key[KEY_BYTES + 1], *error = NULL;
	unsigned int left = op->length;
	size_t length;

	make_key(key, op->key);
	for (leveldb_iter_seek(at, key, KEY_BYTES); left && leveldb_iter_valid(at); left--) {
		leveldb_iter_value(at, &length);
		leveldb_iter_next(at);
	}
	leveldb_iter_get_error(at, &error);
	check(error, "scan");
	leveldb_iter_destroy(at);
}

static void put(const struct trace_record *op, size_t version)
{
	char key[KEY_BYTES + 1], *value = malloc(options.value_bytes), *error = NULL;

	if (!value)
		lab_die("no memory for a value");
	make_key(key, op->key);
	trace_fill(value, options.value_bytes, op->key, version);
	leveldb_put(database, write_options, key, KEY_BYTES, value, options.value_bytes, &error);
	check(error, "put");
	free(value);
}

static void carry_out(const struct trace_record *op, size_t version)
{
	if (op->op == TRACE_READ || op->op == TRACE_READ_MODIFY_WRITE)
		get(op);
	if (op->op == TRACE_SCAN)
		scan(op);
	else if (op->op != TRACE_READ)
		put(op, version);
}

/* Carry out the reads from the one claimed next up to (not including) `end`. */
static void get_until(size_t end, bool count)
{
	for (;;) {
		size_t index = atomic_fetch_add(&next_get, 1);
		uint64_t begin;

		if (index >= end)
			return;
		begin = lab_now_ns();
		carry_out(&trace.at[gets[index]], index);
		if (count)
			latencies_add(&get_latencies, lab_now_ns() - begin);
		lab_sleep_ns(options.get_think_us * NSEC_PER_USEC);
	}
}

static void *work_gets(void *unused)
{
	(void)unused;
	get_until(options.warmup, false);
	pthread_barrier_wait(&phase_barrier);
	/* Here the main thread sets `next_get` and takes the counters. */
	pthread_barrier_wait(&phase_barrier);
	get_until(get_count, true);
	pthread_barrier_wait(&phase_barrier);
	return NULL;
}

/* Scans go on from the beginning of the warm-up to the end of the last read. */
static void *work_scans(void *unused)
{
	(void)unused;
	while (!atomic_load(&finished)) {
		size_t index = atomic_fetch_add(&next_scan, 1);
		uint64_t begin = lab_now_ns();

		scan(&trace.at[scans[index % scan_count]]);
		if (atomic_load(&measured)) {
			latencies_add(&scan_latencies, lab_now_ns() - begin);
			atomic_fetch_add(&scans_done, 1);
		}
		lab_sleep_ns(options.scan_think_us * NSEC_PER_USEC);
	}
	return NULL;
}

static void start_threads(unsigned long count, void *(*body)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	while (count--) {
		errno = pthread_create(&thread, &attributes, body, NULL);
		if (errno)
			lab_die("cannot start a thread");
	}
}

static void split_trace(void)
{
	gets = malloc(trace.count * sizeof(*gets));
	scans = malloc(trace.count * sizeof(*scans));
	if (!gets || !scans)
		lab_die("no memory for the trace");
	for (size_t i = 0; i < trace.count; i++) {
		if (options.mixed || trace.at[i].op == TRACE_READ)
			gets[get_count++] = i;
		else if (trace.at[i].op == TRACE_SCAN)
			scans[scan_count++] = i;
	}
	errno = 0;
	if (options.warmup >= get_count)
		lab_die("the trace has %zu reads, no more than the warm-up", get_count);
	if (options.scan_threads && !scan_count)
		lab_die("the trace has no scans");
}

/* What the harness itself needs is there before the memory limit applies. */
static void prepare(void)
{
	struct rlimit files = { .rlim_cur = 2 * OPEN_FILES, .rlim_max = 2 * OPEN_FILES };

	trace = trace_load(options.trace);
	split_trace();
	latencies_init(&get_latencies, get_count - options.warmup);
	latencies_init(&scan_latencies, MAX_SCANS);
	if (setrlimit(RLIMIT_NOFILE, &files))
		lab_die("cannot raise the number of open files");
	/* One arena: which thread gets which would depend on chance. */
	mallopt(M_ARENA_MAX, 1);
	/* The program's own text: in memory, and not charged to the cgroup. */
	if (mlockall(MCL_CURRENT) || munlockall())
		lab_die("cannot read the program into memory");
}

static void report(uint64_t elapsed, size_t scans_measured)
{
	size_t gets_measured = get_count - options.warmup;

	lab_metric("get_ops", gets_measured * (double)NSEC_PER_SEC / elapsed);
	lab_metric("scan_ops", scans_measured * (double)NSEC_PER_SEC / elapsed);
	latencies_report(&get_latencies, "get_latency");
	latencies_report(&scan_latencies, "scan_latency");
}

static void run(void)
{
	uint64_t begin, elapsed;
	size_t scans_measured;

	lab_open();
	prepare();
	set_mmap_limit(0);
	set_file_limit(OPEN_FILES);
	lab_join();
	open_database(false);
	read_options = leveldb_readoptions_create();
	write_options = leveldb_writeoptions_create();
	pthread_barrier_init(&phase_barrier, NULL, options.get_threads + 1);
	start_threads(options.get_threads, work_gets);
	start_threads(options.scan_threads, work_scans);

	pthread_barrier_wait(&phase_barrier);
	atomic_store(&next_get, options.warmup);
	lab_counters("begin");
	begin = lab_now_ns();
	atomic_store(&measured, true);
	pthread_barrier_wait(&phase_barrier);
	pthread_barrier_wait(&phase_barrier);
	elapsed = lab_now_ns() - begin;
	atomic_store(&measured, false);
	atomic_store(&finished, true);
	scans_measured = atomic_load(&scans_done);
	lab_counters("end");
	report(elapsed, scans_measured);
	/* No tidy end: the guest is about to be switched off. */
	fflush(NULL);
	_exit(0);
}

/* -- command line -------------------------------------------------------- */

static const struct option names[] = {
	{ "home", required_argument, NULL, 'h' },
	{ "trace", required_argument, NULL, 't' },
	{ "records", required_argument, NULL, 'r' },
	{ "value-bytes", required_argument, NULL, 'b' },
	{ "seed", required_argument, NULL, 's' },
	{ "get-threads", required_argument, NULL, 'g' },
	{ "scan-threads", required_argument, NULL, 'S' },
	{ "get-think-us", required_argument, NULL, 'k' },
	{ "scan-think-us", required_argument, NULL, 'K' },
	{ "cache-kb", required_argument, NULL, 'c' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "mixed", no_argument, NULL, 'm' },
	{},
};

static void usage(void)
{
	fputs("usage: get_scan_leveldb load|run --home DIR ... (see the source)\n", stderr);
	exit(2);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text)
		usage();
	return value;
}

static void parse(int argc, char **argv)
{
	for (int option; (option = getopt_long(argc, argv, "", names, NULL)) >= 0;) {
		switch (option) {
		case 'h': options.home = optarg; break;
		case 't': options.trace = optarg; break;
		case 'r': options.records = number(optarg); break;
		case 'b': options.value_bytes = number(optarg); break;
		case 's': options.seed = number(optarg); break;
		case 'g': options.get_threads = number(optarg); break;
		case 'S': options.scan_threads = number(optarg); break;
		case 'k': options.get_think_us = number(optarg); break;
		case 'K': options.scan_think_us = number(optarg); break;
		case 'c': options.cache_kb = number(optarg); break;
		case 'w': options.warmup = number(optarg); break;
		case 'm': options.mixed = true; break;
		default: usage();
		}
	}
	if (optind != argc || !options.home)
		usage();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	parse(argc - 1, argv + 1);
	if (!strcmp(mode, "load") && options.records && options.value_bytes)
		load();
	else if (!strcmp(mode, "run") && options.trace && options.get_threads)
		run();
	else
		usage();
	return 0;
}
