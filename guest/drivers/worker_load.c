// SPDX-License-Identifier: GPL-2.0-only
/*
 * A load script for workers that live in cgroups of their own:
 *
 *	worker_load --groups N --workers N --warmup-ms N --run-ms N --think-ms N
 *		    --heavy N --bucket-ms N --seed N -- PROGRAM ARGUMENT...
 *
 * In each of the groups, below the cgroup under test, it starts so many
 * workers. A worker prints a line when it is ready, then answers each line that
 * it reads with a line. Requests are "SIZE NUMBER": SIZE is 1, or for one
 * request in N 16, a heavy one; NUMBER is random. One client a worker asks,
 * waits for the answer, thinks, and asks again. Metrics: the requests answered
 * in time, Jain's fairness of the workers' numbers of them, the latencies, and
 * the parts of the requests that took so many buckets.
 */
#include "lab.h"
#include "child.h"
#include "latency.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WORKERS 256
#define MAX_MS 3600000
/* The latencies of as many requests have room. */
#define MAX_REQUESTS (1 << 18)
#define LIGHT 1
#define HEAVY 16

static struct worker {
	int requests, answers;
	/* When it was asked; 0 if it is the client's turn. */
	uint64_t asked;
	uint64_t next;
	uint64_t done;
} workers[MAX_WORKERS];

static int groups, per_group, nr_workers;
static uint64_t warmup_ns, run_ns, think_ns, bucket_ns, heavy_in = 1;
static uint64_t seed;
static struct latencies latencies;
/* Requests of less than 1 bucket, less than 2, less than 4, and the rest. */
static uint64_t buckets[4];

/* xorshift64* */
static uint64_t draw(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (seed * 0x2545f4914f6cdd1dULL) >> 32;
}

static void make_groups(void)
{
	const char *parent = getenv("MGLRU_CGROUP");
	char path[512];

	errno = 0;
	if (!parent || !*parent)
		lab_die("worker_load: needs a cgroup under test");
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", parent);
	lab_write(path, "+memory");
	for (int group = 0; group < groups; group++) {
		snprintf(path, sizeof(path), "%s/g%d", parent, group);
		if (mkdir(path, 0755) && errno != EEXIST)
			lab_die("worker_load: cannot create %s", path);
	}
}

static void join_group(int group)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/g%d/cgroup.procs", getenv("MGLRU_CGROUP"), group);
	lab_write(path, "0");
}

/* Reads up to the end of a line: whoever begins an answer finishes it. An end is an error. */
static void read_answer(struct worker *worker)
{
	char text[256];
	ssize_t got;

	do {
		got = read(worker->answers, text, sizeof(text));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = 0;
			lab_die("worker_load: worker %d ended", (int)(worker - workers));
		}
	} while (got < 0 || text[got - 1] != '\n');
}

static void start_worker(int index, char **argv)
{
	int to[2], from[2];
	pid_t child;

	/* Close-on-exec, so that a worker does not keep another one's pipes open. */
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		lab_die("worker_load: no pipes");
	child = child_fork();
	if (!child) {
		join_group(index / per_group);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_DFL);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		child_become(argv);
	}
	close(to[0]);
	close(from[1]);
	workers[index].requests = to[1];
	workers[index].answers = from[0];
	read_answer(workers + index);
}

static void ask(struct worker *worker, uint64_t now)
{
	int size = draw() % heavy_in ? LIGHT : HEAVY;
	char line[64];
	int length = snprintf(line, sizeof(line), "%d %u\n", size, (unsigned int)draw());

	worker->asked = now;
	if (write(worker->requests, line, length) != length)
		lab_die("worker_load: cannot ask worker %d", (int)(worker - workers));
}

static void count(struct worker *worker, uint64_t nsec)
{
	uint64_t took = nsec / bucket_ns;

	worker->done++;
	latencies_add(&latencies, nsec);
	buckets[took < 1 ? 0 : took < 2 ? 1 : took < 4 ? 2 : 3]++;
}

/* Everybody whose time has come asks; returns when to look again. */
static uint64_t ask_due(uint64_t end)
{
	uint64_t now = lab_now_ns(), next = end;

	for (struct worker *worker = workers; worker < workers + nr_workers; worker++) {
		if (worker->asked)
			continue;
		if (worker->next <= now)
			ask(worker, now);
		else if (worker->next < next)
			next = worker->next;
	}
	return next;
}

static void take_answers(struct pollfd *answers, int counting)
{
	for (int i = 0; i < nr_workers; i++) {
		struct worker *worker = workers + i;
		uint64_t now;

		if (!answers[i].revents)
			continue;
		read_answer(worker);
		now = lab_now_ns();
		if (counting)
			count(worker, now - worker->asked);
		worker->asked = 0;
		worker->next = now + think_ns;
	}
}

static void run_until(uint64_t end, int counting)
{
	struct pollfd answers[MAX_WORKERS];
	uint64_t now, next;

	for (int i = 0; i < nr_workers; i++)
		answers[i] = (struct pollfd){ .fd = workers[i].answers, .events = POLLIN };
	while ((now = lab_now_ns()) < end) {
		struct timespec wait;

		next = ask_due(end);
		now = lab_now_ns();
		next = next > now ? next - now : 0;
		wait = (struct timespec){ next / NSEC_PER_SEC, next % NSEC_PER_SEC };
		if (ppoll(answers, nr_workers, &wait, NULL) > 0)
			take_answers(answers, counting);
	}
}

static void report(void)
{
	static const char *const names[] = {
		"part_below_1", "part_from_1_to_2", "part_from_2_to_4", "part_from_4"
	};
	double sum = 0, squares = 0;

	for (int i = 0; i < nr_workers; i++) {
		sum += workers[i].done;
		squares += (double)workers[i].done * workers[i].done;
	}
	lab_metric("requests", sum);
	lab_metric("fairness", squares ? sum * sum / (nr_workers * squares) : 0);
	for (int i = 0; i < 4; i++)
		lab_metric(names[i], sum ? buckets[i] / sum : 0);
	latencies_report(&latencies, "request");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "groups", required_argument, NULL, 'g' },
		{ "workers", required_argument, NULL, 'w' },
		{ "warmup-ms", required_argument, NULL, 'u' },
		{ "run-ms", required_argument, NULL, 'r' },
		{ "think-ms", required_argument, NULL, 't' },
		{ "heavy", required_argument, NULL, 'h' },
		{ "bucket-ms", required_argument, NULL, 'b' },
		{ "seed", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (option) {
		case 'g': groups = lab_number(optarg, MAX_WORKERS); break;
		case 'w': per_group = lab_number(optarg, MAX_WORKERS); break;
		case 'u': warmup_ns = lab_number(optarg, MAX_MS) * NSEC_PER_MSEC; break;
		case 'r': run_ns = lab_number(optarg, MAX_MS) * NSEC_PER_MSEC; break;
		case 't': think_ns = lab_number(optarg, MAX_MS) * NSEC_PER_MSEC; break;
		case 'h': heavy_in = lab_number(optarg, INT_MAX); break;
		case 'b': bucket_ns = lab_number(optarg, MAX_MS) * NSEC_PER_MSEC; break;
		case 's': seed = lab_number(optarg, UINT32_MAX); break;
		default: errno = 0; lab_die("worker_load: unknown option");
		}
	}
	nr_workers = groups * per_group;
	errno = 0;
	if (nr_workers > MAX_WORKERS)
		lab_die("worker_load: at most %d workers", MAX_WORKERS);
	if (!nr_workers || !run_ns || !bucket_ns || !heavy_in)
		lab_die("worker_load: needs --groups, --workers, --run-ms, --bucket-ms and --heavy");
	if (!argv[optind])
		lab_die("worker_load: no program");
	/* Small seeds differ in few bits, and 0 would stay 0. */
	seed = (seed + 1) * 0x9e3779b97f4a7c15ULL;
}

int main(int argc, char **argv)
{
	uint64_t begin;

	lab_open();
	parse(argc, argv);
	prctl(PR_SET_TIMERSLACK, 1UL);
	/* A worker that is gone is an error of write(). */
	signal(SIGPIPE, SIG_IGN);
	latencies_init(&latencies, MAX_REQUESTS);
	make_groups();
	for (int i = 0; i < nr_workers; i++)
		start_worker(i, argv + optind);
	begin = lab_now_ns();
	/* They do not all ask at the same moment. */
	for (int i = 0; i < nr_workers; i++)
		workers[i].next = begin + (think_ns + NSEC_PER_MSEC) * i / nr_workers;
	run_until(begin + warmup_ns, 0);
	lab_counters("begin");
	run_until(begin + warmup_ns + run_ns, 1);
	lab_counters("end");
	report();
	return 0;
}
