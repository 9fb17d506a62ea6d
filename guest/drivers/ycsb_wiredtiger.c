// SPDX-License-Identifier: GPL-2.0-only
/*
 * YCSB's operations over WiredTiger, MongoDB's storage engine:
 *
 *	ycsb_wiredtiger load --home DIR --records N [--record-bytes N] [--leaf-kb N] [--seed N]
 *	ycsb_wiredtiger run --home DIR --trace FILE [--threads N] [--think-us N]
 *		[--checkpoint-ms N] [--cache-mb N] [--warmup N] [--record-bytes N]
 *
 * `load` runs on the host and makes the database; keys are numbers in the order
 * of insertion, as in MongoDB's record store. `run` carries out a trace, whose
 * operations its threads claim one after another, and reports on the channel.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <wiredtiger.h>

#include "lab.h"
#include "latency.h"
#include "progress.h"
#include "trace.h"

#define TABLE "table:usertable"
/* Wait before another try, after a conflict or for a record still being inserted. */
#define RETRY_NS (10 * NSEC_PER_USEC)
#define MAX_RETRIES 100000
#define LOAD_TIME 1700000000

static struct options {
	const char *home;
	const char *trace;
	unsigned long records;
	unsigned long record_bytes;
	unsigned long leaf_kb;
	unsigned long seed;
	unsigned long threads;
	unsigned long think_us;
	unsigned long checkpoint_ms;
	unsigned long cache_mb;
	unsigned long warmup;
} options = {
	.record_bytes = 1000,
	.leaf_kb = 32,
	.threads = 32,
	.think_us = 100,
	.checkpoint_ms = 1000,
	.cache_mb = 72,
};

static WT_CONNECTION *connection;
static struct trace trace;
static struct latencies latencies;
static atomic_size_t claimed;
static atomic_bool finished;
static atomic_ulong retries;
static pthread_barrier_t phase_barrier;

static void check(int error, const char *what)
{
	if (!error)
		return;
	errno = 0;
	lab_die("%s: %s", what, wiredtiger_strerror(error));
}

static void open_database(const char *config)
{
	check(wiredtiger_open(options.home, NULL, config, &connection), "wiredtiger_open");
}

static WT_SESSION *open_session(void)
{
	WT_SESSION *session;

	check(connection->open_session(connection, NULL, NULL, &session), "open_session");
	return session;
}

static WT_CURSOR *open_cursor(WT_SESSION *session, const char *config)
{
	WT_CURSOR *cursor;

	check(session->open_cursor(session, TABLE, NULL, config, &cursor), "open_cursor");
	return cursor;
}

static void set_value(WT_CURSOR *cursor, void *buf, uint64_t key, uint64_t version)
{
	WT_ITEM item = { .data = buf, .size = options.record_bytes };

	trace_fill(buf, options.record_bytes, key, version);
	cursor->set_value(cursor, &item);
}

/* -- load ---------------------------------------------------------------- */

static bool loading;

/*
 * WiredTiger writes the time of a checkpoint into its metadata. While loading
 * it is always the same moment, so that the database is the same file each time.
 */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (loading && clock == CLOCK_REALTIME) {
		*now = (struct timespec){ .tv_sec = LOAD_TIME };
		return 0;
	}
	return syscall(SYS_clock_gettime, clock, now);
}

static void load(void)
{
	char config[256], *buf = malloc(options.record_bytes);
	WT_SESSION *session;
	WT_CURSOR *cursor;

	/* On the host there is no channel: errors go to the terminal. */
	setenv("MGLRU_CHANNEL", "/dev/stderr", 0);
	lab_open();
	loading = true;
	open_database("create,cache_size=512MB,statistics=(none)");
	session = open_session();
	/* As MongoDB makes its collections, without compression. */
	snprintf(config, sizeof(config),
		 "key_format=q,value_format=u,allocation_size=4KB,internal_page_max=4KB,"
		 "leaf_page_max=%luKB,leaf_value_max=64MB,split_pct=90,checksum=on",
		 options.leaf_kb);
	check(session->create(session, TABLE, config), "create");
	cursor = open_cursor(session, "bulk");
	for (uint64_t key = 0; key < options.records; key++) {
		cursor->set_key(cursor, (int64_t)key);
		set_value(cursor, buf, key, options.seed);
		check(cursor->insert(cursor), "insert");
	}
	check(cursor->close(cursor), "close");
	check(connection->close(connection, NULL), "close");
	free(buf);
}

/* -- run ----------------------------------------------------------------- */

#define YIELD_NS NSEC_PER_USEC

/*
 * WiredTiger waits for a page that another thread reads by giving way, again
 * and again. In virtual time that costs nothing and would stop the clock, and
 * with it the disk; so it takes the microsecond that a busy processor would.
 */
int sched_yield(void)
{
	if (loading)
		return syscall(SYS_sched_yield);
	lab_sleep_ns(YIELD_NS);
	return 0;
}

struct worker {
	pthread_t thread;
	WT_CURSOR *cursor;
	void *buf;
};

/* Give way, in virtual time: a thread that only spins would stop the clock. */
static void retry(unsigned int *tries, const char *what)
{
	if (++*tries > MAX_RETRIES) {
		errno = 0;
		lab_die("%s: still not possible after %d tries", what, MAX_RETRIES);
	}
	atomic_fetch_add(&retries, 1);
	lab_sleep_ns(RETRY_NS);
}

/* WT_ROLLBACK: another transaction has just changed the record, or the cache is full. */
static void search(WT_CURSOR *cursor, uint64_t key)
{
	unsigned int tries = 0;
	int error;

	for (;;) {
		cursor->set_key(cursor, (int64_t)key);
		error = cursor->search(cursor);
		/* A record that is not there must be one that is being inserted. */
		if (error != WT_ROLLBACK && error != WT_NOTFOUND)
			break;
		retry(&tries, "search");
	}
	check(error, "search");
}

static void get_value(struct worker *worker)
{
	WT_ITEM item;

	check(worker->cursor->get_value(worker->cursor, &item), "get_value");
	memcpy(worker->buf, item.data,
	       item.size < options.record_bytes ? item.size : options.record_bytes);
}

static void write_record(struct worker *worker, const struct trace_record *op, uint64_t version)
{
	WT_CURSOR *cursor = worker->cursor;
	unsigned int tries = 0;
	int error;

	for (;;) {
		cursor->set_key(cursor, (int64_t)op->key);
		set_value(cursor, worker->buf, op->key, version);
		error = op->op == TRACE_INSERT ? cursor->insert(cursor) : cursor->update(cursor);
		if (error != WT_ROLLBACK)
			break;
		retry(&tries, "write");
	}
	check(error, op->op == TRACE_INSERT ? "insert" : "update");
}

static void scan(struct worker *worker, const struct trace_record *op)
{
	unsigned int left = op->length;

	search(worker->cursor, op->key);
	for (;;) {
		int error;

		get_value(worker);
		if (!--left)
			break;
		error = worker->cursor->next(worker->cursor);
		if (error == WT_NOTFOUND)
			break;
		check(error, "next");
	}
}

static void carry_out(struct worker *worker, size_t index)
{
	const struct trace_record *op = &trace.at[index];

	switch ((enum trace_op)op->op) {
	case TRACE_READ:
		search(worker->cursor, op->key);
		get_value(worker);
		break;
	case TRACE_READ_MODIFY_WRITE:
		search(worker->cursor, op->key);
		get_value(worker);
		write_record(worker, op, index + 1);
		break;
	case TRACE_UPDATE:
	case TRACE_INSERT:
		write_record(worker, op, index + 1);
		break;
	case TRACE_SCAN:
		scan(worker, op);
		break;
	default:
		errno = 0;
		lab_die("operation %zu of the trace is of the unknown kind %d", index, op->op);
	}
	check(worker->cursor->reset(worker->cursor), "reset");
}

/* Carry out the operations from the one claimed next up to (not including) `end`. */
static void work_until(struct worker *worker, size_t end, bool measured)
{
	for (;;) {
		size_t index = atomic_fetch_add(&claimed, 1);
		uint64_t begin;

		if (index >= end)
			return;
		if (trace.at[index].shift)
			progress_shift();
		begin = lab_now_ns();
		carry_out(worker, index);
		if (measured) {
			latencies_add(&latencies, lab_now_ns() - begin);
			progress_add();
		}
		lab_sleep_ns(options.think_us * NSEC_PER_USEC);
	}
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	work_until(worker, options.warmup, false);
	pthread_barrier_wait(&phase_barrier);
	/* Here the main thread sets `claimed` and takes the counters. */
	pthread_barrier_wait(&phase_barrier);
	work_until(worker, trace.count, true);
	pthread_barrier_wait(&phase_barrier);
	return NULL;
}

static void *checkpoint_now_and_then(void *unused)
{
	WT_SESSION *session = open_session();

	(void)unused;
	while (options.checkpoint_ms && !atomic_load(&finished)) {
		lab_sleep_ns(options.checkpoint_ms * 1000 * NSEC_PER_USEC);
		check(session->checkpoint(session, NULL), "checkpoint");
	}
	return NULL;
}

static void start_thread(pthread_t *thread, void *(*body)(void *), void *argument)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	errno = pthread_create(thread, &attributes, body, argument);
	if (errno)
		lab_die("cannot start a thread");
}

/* What the harness itself needs is there before the memory limit applies. */
static void prepare(void)
{
	trace = trace_load(options.trace);
	errno = 0;
	if (options.warmup >= trace.count)
		lab_die("the trace has %zu operations, no more than the warm-up", trace.count);
	latencies_init(&latencies, trace.count - options.warmup);
	progress_init(trace.count - options.warmup);
	/* One arena: which thread gets which would depend on chance. */
	mallopt(M_ARENA_MAX, 1);
	/* The program's own text: in memory, and not charged to the cgroup. */
	if (mlockall(MCL_CURRENT) || munlockall())
		lab_die("cannot read the program into memory");
}

static void run(void)
{
	struct worker *workers = calloc(options.threads, sizeof(*workers));
	pthread_t checkpointer;
	uint64_t begin, elapsed;
	char config[256];

	lab_open();
	prepare();
	lab_join();
	snprintf(config, sizeof(config),
		 "cache_size=%luMB,session_max=%lu,eviction=(threads_min=4,threads_max=4),"
		 "mmap=false,statistics=(none),%s",
		 options.cache_mb, options.threads + 64, getenv("WT_EXTRA") ?: "");
	open_database(config);
	pthread_barrier_init(&phase_barrier, NULL, options.threads + 1);
	for (unsigned long i = 0; i < options.threads; i++) {
		workers[i].cursor = open_cursor(open_session(), NULL);
		workers[i].buf = malloc(options.record_bytes);
		start_thread(&workers[i].thread, work, &workers[i]);
	}
	start_thread(&checkpointer, checkpoint_now_and_then, NULL);

	pthread_barrier_wait(&phase_barrier);
	atomic_store(&claimed, options.warmup);
	lab_counters("begin");
	begin = lab_now_ns();
	pthread_barrier_wait(&phase_barrier);
	pthread_barrier_wait(&phase_barrier);
	elapsed = lab_now_ns() - begin;
	lab_counters("end");

	lab_metric("ops_per_second",
		   (trace.count - options.warmup) * (double)NSEC_PER_SEC / elapsed);
	lab_metric("retries", atomic_load(&retries));
	progress_report();
	latencies_report(&latencies, "latency");
	/* No tidy end: the guest is about to be switched off. */
	fflush(NULL);
	_exit(0);
}

/* -- command line -------------------------------------------------------- */

static const struct option names[] = {
	{ "home", required_argument, NULL, 'h' },
	{ "trace", required_argument, NULL, 't' },
	{ "records", required_argument, NULL, 'r' },
	{ "record-bytes", required_argument, NULL, 'b' },
	{ "leaf-kb", required_argument, NULL, 'l' },
	{ "seed", required_argument, NULL, 's' },
	{ "threads", required_argument, NULL, 'T' },
	{ "think-us", required_argument, NULL, 'k' },
	{ "checkpoint-ms", required_argument, NULL, 'c' },
	{ "cache-mb", required_argument, NULL, 'm' },
	{ "warmup", required_argument, NULL, 'w' },
	{},
};

static void usage(void)
{
	fputs("usage: ycsb_wiredtiger load|run --home DIR ... (see the source)\n", stderr);
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
		case 'b': options.record_bytes = number(optarg); break;
		case 'l': options.leaf_kb = number(optarg); break;
		case 's': options.seed = number(optarg); break;
		case 'T': options.threads = number(optarg); break;
		case 'k': options.think_us = number(optarg); break;
		case 'c': options.checkpoint_ms = number(optarg); break;
		case 'm': options.cache_mb = number(optarg); break;
		case 'w': options.warmup = number(optarg); break;
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
	if (!strcmp(mode, "load") && options.records)
		load();
	else if (!strcmp(mode, "run") && options.trace && options.threads)
		run();
	else
		usage();
	return 0;
}
