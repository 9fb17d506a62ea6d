// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page cache that is always young beside anonymous memory that comes and goes:
 * readers map a file and touch every page of it, again and again; allocators
 * take memory, touch it, and give it back, for a number of rounds. Both do not
 * fit the limit together, but most of the page cache can always be had back.
 * So whoever is killed is killed for nothing.
 *
 *	oom_aging --file PATH [--readers N] [--pause-us N] [--allocators N]
 *		  [--anon-mb N] [--mb-us N] [--rounds N] [--seed N]
 *
 * Each reader, a thread, has a part of the file, and pauses for --pause-us
 * after each pass. Each allocator, a process, has a part of --anon-mb, pauses
 * for --mb-us after each MB (what clearing it takes, which virtual time leaves
 * out), and between two rounds for up to --pause-us, by the seed. Metric:
 * rounds, those that the slowest allocator has finished when all have, or when
 * the first process is killed.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

#define PAGE_BYTES 4096UL
#define MB (1UL << 20)
#define MAX_MB (1UL << 20)
#define MAX_US 60000000UL
#define MAX_ROUNDS 1000000UL
#define MAX_PROCESSES 256UL

static struct options {
	const char *file;
	uint64_t readers, allocators, anon_mb, pause_us, mb_us, rounds, seed;
} options = {
	.readers = 8, .allocators = 4, .anon_mb = 224, .pause_us = 1875, .mb_us = 200,
	.rounds = 128, .seed = 1,
};

/* One of the readers: a part of the file. */
static struct part {
	pthread_t thread;
	const volatile char *data;
	size_t bytes;
} parts[MAX_PROCESSES];

/* Rounds that each allocator has finished; shared by all of them. */
static atomic_ulong *done;

static void check(void)
{
	errno = 0;
	if (!options.file)
		lab_die("oom_aging: needs --file");
	if (!options.readers || !options.allocators || !options.rounds)
		lab_die("oom_aging: needs at least one reader, one allocator and one round");
	if (options.anon_mb < options.allocators)
		lab_die("oom_aging: --anon-mb is less than a MB for each allocator");
	/* Readers that find all their pages would never let anybody else run. */
	if (!options.pause_us)
		lab_die("oom_aging: --pause-us must not be 0");
}

static void parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "file", required_argument, NULL, 'f' },
		{ "readers", required_argument, NULL, 'r' },
		{ "pause-us", required_argument, NULL, 'p' },
		{ "allocators", required_argument, NULL, 'a' },
		{ "anon-mb", required_argument, NULL, 'm' },
		{ "mb-us", required_argument, NULL, 'u' },
		{ "rounds", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case 'f': options.file = optarg; break;
		case 'r': options.readers = lab_number(optarg, MAX_PROCESSES); break;
		case 'p': options.pause_us = lab_number(optarg, MAX_US); break;
		case 'a': options.allocators = lab_number(optarg, MAX_PROCESSES); break;
		case 'm': options.anon_mb = lab_number(optarg, MAX_MB); break;
		case 'u': options.mb_us = lab_number(optarg, MAX_US); break;
		case 'n': options.rounds = lab_number(optarg, MAX_ROUNDS); break;
		case 's': options.seed = lab_number(optarg, UINT64_MAX); break;
		default:
			errno = 0;
			lab_die("oom_aging: unknown option, see guest/drivers/oom_aging.c");
		}
	}
	check();
}

static void *read_part(void *argument)
{
	const struct part *part = argument;

	for (;;) {
		for (size_t at = 0; at < part->bytes; at += PAGE_BYTES)
			(void)part->data[at];
		lab_sleep_ns(options.pause_us * NSEC_PER_USEC);
	}
	return NULL;
}

static const char *map_file(size_t *bytes)
{
	int fd = open(options.file, O_RDONLY | O_CLOEXEC);
	struct stat status;
	const char *data;

	if (fd < 0 || fstat(fd, &status))
		lab_die("cannot open %s", options.file);
	*bytes = status.st_size;
	if (!*bytes)
		return NULL;
	data = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		lab_die("cannot map %s", options.file);
	return data;
}

static void __attribute__((noreturn)) read_forever(void)
{
	const char *data;
	size_t bytes;

	data = map_file(&bytes);
	bytes = bytes / options.readers / PAGE_BYTES * PAGE_BYTES;
	errno = 0;
	if (!bytes)
		lab_die("%s has less than a page for each reader", options.file);
	for (uint64_t i = 0; i < options.readers; i++) {
		parts[i].data = data + i * bytes;
		parts[i].bytes = bytes;
		errno = pthread_create(&parts[i].thread, NULL, read_part, parts + i);
		if (errno)
			lab_die("cannot start a reader");
	}
	for (;;)
		pause();
}

static void one_round(size_t bytes)
{
	char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (data == MAP_FAILED)
		lab_die("cannot map %zu bytes", bytes);
	for (size_t at = 0; at < bytes; at += MB) {
		if (madvise(data + at, MB, MADV_POPULATE_WRITE))
			lab_die("cannot touch memory");
		lab_sleep_ns(options.mb_us * NSEC_PER_USEC);
	}
	munmap(data, bytes);
}

static void __attribute__((noreturn)) allocate(uint64_t number)
{
	uint64_t random = options.seed + number;

	while (done[number] < options.rounds) {
		one_round(options.anon_mb / options.allocators * MB);
		done[number]++;
		lab_sleep_ns(lab_random(&random) % (options.pause_us * NSEC_PER_USEC));
	}
	_exit(0);
}

/* Number 0 reads, the others allocate. */
static pid_t start(uint64_t number)
{
	pid_t child = child_fork();

	if (child)
		return child;
	signal(SIGTERM, SIG_DFL);
	if (!number)
		read_forever();
	allocate(number - 1);
}

/* Until all allocators are through, or until the first process is killed. */
static void wait_for_allocators(void)
{
	uint64_t left = options.allocators;

	while (left) {
		int status;

		if (wait(&status) < 0)
			continue;
		if (child_was_killed(status))
			return;
		child_check(status, "oom_aging: a process");
		left--;
	}
}

static void report(void)
{
	uint64_t rounds = options.rounds;

	for (uint64_t i = 0; i < options.allocators; i++)
		rounds = done[i] < rounds ? done[i] : rounds;
	lab_metric("rounds", rounds);
}

int main(int argc, char **argv)
{
	lab_open();
	parse(argc, argv);
	done = mmap(NULL, MAX_PROCESSES * sizeof(*done), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED)
		lab_die("cannot map a page");
	/* Above all to the kernel's thread that takes the memory of who was killed. */
	lab_give_way();
	signal(SIGTERM, SIG_IGN);
	for (uint64_t number = 0; number <= options.allocators; number++)
		start(number);
	wait_for_allocators();
	report();
	/* The others of this step, the readers above all. */
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}
