// SPDX-License-Identifier: GPL-2.0-only
/*
 * A working set in use while another program runs beside it, in the same
 * cgroup:
 *
 *	workingset [--file PATH --file-mb N --file-threads N] [--file-map normal|random]
 *		   [--anon-mb N --anon-threads N] [--think-us N] [--warmup-ms N]
 *		   [--after-ms N] [--seed N] -- PROGRAM ARGUMENT...
 *
 * Threads read pages of the file and touch pages of the anonymous memory, each
 * page as likely as any other, and pause for --think-us after each. The file is
 * read by pread(), or, with --file-map, through a mapping, without advice to
 * the kernel (normal) or with that of databases, MADV_RANDOM (random). After
 * the warm-up the counters' phase "begin", then PROGRAM to its end and
 * --after-ms, then "end". Latencies of what began between the two: read, touch.
 * Metrics: reads, touches, how many these are; beside_seconds, how long PROGRAM
 * took. It ends as PROGRAM did: by the same exit status or signal. If the cgroup
 * is out of memory, PROGRAM is killed first.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "latency.h"

#define PAGE_BYTES 4096UL
#define MB (1UL << 20)
/* Of each anonymous page this much does not compress. */
#define RANDOM_BYTES 1024
#define MAX_OPERATIONS (4 << 20)
#define MAX_MB (1UL << 20)
#define MAX_THREADS 256
#define MAX_SECONDS 3600
#define SEEDS_A_THREAD 1000

struct kind {
	const char *latency_name, *metric;
	uint64_t megabytes, threads;
	size_t pages;
	pthread_t handles[MAX_THREADS];
	struct latencies latencies;
	void (*use)(size_t page);
};

static struct options {
	const char *file, *file_map;
	uint64_t think_us, warmup_ms, after_ms, seed;
} options = { .think_us = 100, .warmup_ms = 1000, .seed = 1 };

static int fd;
static char *memory, *mapping;
static atomic_int measuring, stopping;

static void read_page(size_t page)
{
	static __thread char buffer[PAGE_BYTES];

	if (pread(fd, buffer, sizeof(buffer), page * PAGE_BYTES) != sizeof(buffer))
		lab_die("cannot read page %zu of %s", page, options.file);
}

static void read_mapped_page(size_t page)
{
	(void)*(volatile char *)(mapping + page * PAGE_BYTES);
}

static void touch_page(size_t page)
{
	++*(volatile char *)(memory + page * PAGE_BYTES);
}

static struct kind files = { "read", "reads", .use = read_page };
static struct kind anon = { "touch", "touches", .use = touch_page };

static void __attribute__((noreturn)) usage(const char *problem, const char *word)
{
	errno = 0;
	lab_die("workingset: %s%s; see guest/drivers/workingset.c", problem, word);
}

static void set_number(const char *name, const char *text)
{
	const struct {
		const char *name;
		uint64_t *value, max;
	} numbers[] = {
		{ "--file-mb", &files.megabytes, MAX_MB },
		{ "--file-threads", &files.threads, MAX_THREADS },
		{ "--anon-mb", &anon.megabytes, MAX_MB },
		{ "--anon-threads", &anon.threads, MAX_THREADS },
		{ "--think-us", &options.think_us, MAX_SECONDS * 1000000UL },
		{ "--warmup-ms", &options.warmup_ms, MAX_SECONDS * 1000UL },
		{ "--after-ms", &options.after_ms, MAX_SECONDS * 1000UL },
		{ "--seed", &options.seed, UINT64_MAX / SEEDS_A_THREAD - 1 },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (!strcmp(name, numbers[i].name)) {
			*numbers[i].value = lab_number(text, numbers[i].max);
			return;
		}
	}
	usage("unknown option ", name);
}

static void check(void)
{
	if (!files.megabytes && !anon.megabytes)
		usage("nothing to use", "");
	if (!options.file != !files.megabytes || !files.threads != !files.megabytes)
		usage("--file, --file-mb and --file-threads go together", "");
	if (options.file_map && !options.file)
		usage("--file-map needs --file", "");
	if (options.file_map && strcmp(options.file_map, "normal") &&
	    strcmp(options.file_map, "random"))
		usage("--file-map is normal or random, not ", options.file_map);
	if (!anon.threads != !anon.megabytes)
		usage("--anon-mb and --anon-threads go together", "");
	/* Without a pause between two hits, the clock would stand still. */
	if (!options.think_us)
		usage("--think-us must not be 0", "");
	files.pages = files.megabytes * MB / PAGE_BYTES;
	anon.pages = anon.megabytes * MB / PAGE_BYTES;
}

/* Returns PROGRAM's argv. */
static char **parse(char **argv)
{
	while (*++argv && strcmp(*argv, "--")) {
		const char *name = *argv;

		if (!*++argv || !strcmp(*argv, "--"))
			usage("no value for ", name);
		if (!strcmp(name, "--file"))
			options.file = *argv;
		else if (!strcmp(name, "--file-map"))
			options.file_map = *argv;
		else
			set_number(name, *argv);
	}
	if (!*argv || !argv[1])
		usage("no program", "");
	check();
	return argv + 1;
}

static void *use_forever(void *argument)
{
	static atomic_ullong number;
	struct kind *kind = argument;
	uint64_t random = options.seed * SEEDS_A_THREAD + ++number;

	while (!stopping) {
		int counts = measuring;
		uint64_t begin = lab_now_ns();

		kind->use(lab_random(&random) % kind->pages);
		if (counts)
			latencies_add(&kind->latencies, lab_now_ns() - begin);
		lab_sleep_ns(options.think_us * NSEC_PER_USEC);
	}
	return NULL;
}

static void open_file(void)
{
	struct stat status;

	fd = open(options.file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		lab_die("cannot open %s", options.file);
	errno = 0;
	if ((size_t)status.st_size < files.pages * PAGE_BYTES)
		lab_die("%s has less than %zu MB", options.file, (size_t)files.megabytes);
}

static void map_file(void)
{
	int advice = strcmp(options.file_map, "random") ? MADV_NORMAL : MADV_RANDOM;

	mapping = mmap(NULL, files.pages * PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (mapping == MAP_FAILED || madvise(mapping, files.pages * PAGE_BYTES, advice))
		lab_die("cannot map %s", options.file);
	files.use = read_mapped_page;
}

/* All of it once, in the cgroup. */
static void fill_file(void)
{
	for (size_t page = 0; page < files.pages; page++)
		read_page(page);
	/* From here on as databases do: no reading ahead of what is wanted. */
	if (files.pages)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

static void fill_memory(void)
{
	uint64_t random = options.seed;

	if (!anon.pages)
		return;
	memory = mmap(NULL, anon.pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		lab_die("cannot map %zu MB", (size_t)anon.megabytes);
	for (size_t page = 0; page < anon.pages; page++) {
		uint64_t *words = (uint64_t *)(memory + page * PAGE_BYTES);

		memset(words, 1, PAGE_BYTES);
		for (size_t i = 0; i < RANDOM_BYTES / sizeof(*words); i++)
			words[i] = lab_random(&random);
	}
}

static void start_threads(struct kind *kind)
{
	for (uint64_t i = 0; i < kind->threads; i++) {
		errno = pthread_create(kind->handles + i, NULL, use_forever, kind);
		if (errno)
			lab_die("cannot start a thread");
	}
}

/* Returns its status, as from wait(). */
static int run_program(char **argv)
{
	uint64_t begin = lab_now_ns();
	pid_t child = child_fork();
	int status;

	if (!child) {
		child_offer();
		child_become(argv);
	}
	status = child_wait(child);
	/* What failed did not take the time that its work takes. */
	if (!status)
		lab_metric("beside_seconds", (lab_now_ns() - begin) / (double)NSEC_PER_SEC);
	return status;
}

static void report(struct kind *kind)
{
	if (!kind->threads)
		return;
	/* What was begun counts, however long it still takes. */
	for (uint64_t i = 0; i < kind->threads; i++)
		pthread_join(kind->handles[i], NULL);
	lab_metric(kind->metric, atomic_load(&kind->latencies.count));
	latencies_report(&kind->latencies, kind->latency_name);
}

int main(int argc, char **argv)
{
	int status;

	(void)argc;
	lab_open();
	argv = parse(argv);
	lab_give_way();
	if (files.threads) {
		open_file();
		if (options.file_map)
			map_file();
		latencies_init(&files.latencies, MAX_OPERATIONS);
	}
	if (anon.threads)
		latencies_init(&anon.latencies, MAX_OPERATIONS);
	lab_join();
	fill_file();
	fill_memory();
	start_threads(&files);
	start_threads(&anon);
	lab_sleep_ns(options.warmup_ms * NSEC_PER_MSEC);
	measuring = 1;
	lab_counters("begin");
	status = run_program(argv);
	lab_sleep_ns(options.after_ms * NSEC_PER_MSEC);
	lab_counters("end");
	stopping = 1;
	report(&files);
	report(&anon);
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
	return WEXITSTATUS(status);
}
