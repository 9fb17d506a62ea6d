// SPDX-License-Identifier: GPL-2.0-only
/* Which block comes next, and how it is used: see patterns.h. */
#include "patterns.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab.h"

/* Of each anonymous page this much does not compress. */
#define RANDOM_BYTES 1024

static struct region {
	const char *name;
	char *memory;
	uint64_t mb;
} regions[MAX_ACTORS];
static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((noreturn)) bad(const char *problem)
{
	errno = 0;
	lab_die("patterns: %s; see guest/drivers/patterns.c", problem);
}

static void check(const struct actor *actor)
{
	if (!actor->file == !actor->anon)
		bad("an actor needs either file= or anon=");
	if (!actor->mb || !actor->block_kb || actor->block_kb % 4)
		bad("an actor needs mb=, and blocks of 4 kB or a multiple");
	if (!actor->threads || actor->threads > MAX_THREADS || !actor->batch || !actor->sets)
		bad("threads= is 1 to 256, batch= and sets= at least 1");
	/* Without a pause between two hits, the clock would stand still. */
	if (!actor->think_us)
		bad("think_us= must not be 0");
	if (!actor->turn != (actor->sets == 1))
		bad("sets= and turn= go together");
	if (actor->advice && strcmp(actor->advice, "normal") &&
	    strcmp(actor->advice, "random") && strcmp(actor->advice, "sequential"))
		bad("advice= is normal, random or sequential");
}

static size_t blocks(const struct actor *actor)
{
	return actor->pages / actor->block;
}

/* Gray and others, "Quickly generating billion-record synthetic databases", SIGMOD 1994. */
static void prepare_zipf(struct actor *actor)
{
	for (size_t i = 1; i <= blocks(actor); i++) {
		actor->zeta += pow(i, -actor->theta);
		if (i <= 2)
			actor->zeta_two = actor->zeta;
	}
}

void access_prepare(struct actor *actor)
{
	check(actor);
	if (actor->anon)
		actor->how = TOUCH;
	actor->block = (actor->block_kb << 10) / PAGE_BYTES;
	actor->pages = actor->mb * MB / PAGE_BYTES;
	actor->pages /= actor->kind == SCAN ? actor->threads : actor->sets;
	if (blocks(actor) < 2)
		bad("a range, or a thread's part of it, has less than two blocks");
	if (actor->kind == RANDOM && actor->theta > 0)
		prepare_zipf(actor);
}

static double unit(struct thread *thread)
{
	return (lab_random(&thread->random) >> 11) * 0x1p-53;
}

/* 0 is the most frequent one. */
static size_t draw_rank(struct thread *thread)
{
	const struct actor *actor = thread->actor;
	size_t count = blocks(actor), rank;
	double u = unit(thread), share = u * actor->zeta, eta;

	if (actor->theta <= 0)
		return u * count;
	if (share < 1)
		return 0;
	if (share < actor->zeta_two)
		return 1;
	eta = (1 - pow(2.0 / count, 1 - actor->theta)) / (1 - actor->zeta_two / actor->zeta);
	rank = count * pow(eta * u - eta + 1, 1 / (1 - actor->theta));
	return rank < count ? rank : count - 1;
}

/* A permutation of the numbers below count, another one for each salt. */
static size_t scatter(size_t number, size_t count, uint64_t salt)
{
	unsigned int bits = 64 - __builtin_clzl(count - 1);
	size_t mask = (1UL << bits) - 1;

	lab_random(&salt);
	do {
		for (int i = 0; i < 3; i++) {
			number = (number ^ salt) * 0x9e3779b97f4a7c15UL & mask;
			number ^= number >> (bits / 2 + 1);
		}
	} while (number >= count);
	return number;
}

static int next_of_scan(struct thread *thread, size_t *page)
{
	const struct actor *actor = thread->actor;

	if (actor->rounds && thread->count == actor->rounds * blocks(actor))
		return 0;
	*page = thread->first + thread->count % blocks(actor) * actor->block;
	return 1;
}

static int next_random(struct thread *thread, size_t *page)
{
	const struct actor *actor = thread->actor;
	uint64_t epoch = actor->shift ? thread->count / actor->shift : 0;
	size_t set = actor->turn ? thread->count / actor->turn % actor->sets : 0;

	if (actor->ops && thread->count == actor->ops)
		return 0;
	*page = thread->first + set * actor->pages +
		scatter(draw_rank(thread), blocks(actor), epoch) * actor->block;
	return 1;
}

int access_next(struct thread *thread, size_t *page)
{
	return thread->actor->kind == SCAN ? next_of_scan(thread, page) :
					     next_random(thread, page);
}

static void map_anon(struct actor *actor)
{
	struct region *region = regions;

	pthread_mutex_lock(&regions_lock);
	while (region->name && strcmp(region->name, actor->anon))
		region++;
	if (!region->name) {
		*region = (struct region){ .name = actor->anon, .mb = actor->at_mb + actor->mb };
		region->memory = mmap(NULL, region->mb * MB, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (region->memory == MAP_FAILED)
			lab_die("cannot map %llu MB", (unsigned long long)region->mb);
	}
	errno = 0;
	if (region->mb < actor->at_mb + actor->mb)
		lab_die("patterns: the first actor of anon=%s has to have all of it", actor->anon);
	actor->memory = region->memory;
	pthread_mutex_unlock(&regions_lock);
}

static int is(const char *advice, const char *name)
{
	return advice && !strcmp(advice, name);
}

static void map_file(struct thread *thread)
{
	const struct actor *actor = thread->actor;
	size_t bytes = (actor->at_mb + actor->mb) * MB;
	int advice = is(actor->advice, "random")     ? MADV_RANDOM :
		     is(actor->advice, "sequential") ? MADV_SEQUENTIAL :
						       MADV_NORMAL;

	thread->buffer = mmap(NULL, bytes, PROT_READ | (actor->how == TEXT ? PROT_EXEC : 0),
			      MAP_SHARED, thread->fd, 0);
	if (thread->buffer == MAP_FAILED || madvise(thread->buffer, bytes, advice))
		lab_die("cannot map %s", actor->file);
}

static void open_file(struct thread *thread)
{
	const struct actor *actor = thread->actor;
	int writes = actor->how == WRITE;
	struct stat status;

	thread->fd = open(actor->file, (writes ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0644);
	if (thread->fd < 0 || fstat(thread->fd, &status))
		lab_die("cannot open %s", actor->file);
	errno = 0;
	/* What follows a writer reads what is not there yet. */
	if (!writes && !actor->behind && S_ISREG(status.st_mode) &&
	    (uint64_t)status.st_size < (actor->at_mb + actor->mb) * MB)
		lab_die("%s has less than %llu MB", actor->file,
			(unsigned long long)(actor->at_mb + actor->mb));
	if (is(actor->advice, "random"))
		posix_fadvise(thread->fd, 0, 0, POSIX_FADV_RANDOM);
	if (is(actor->advice, "sequential"))
		posix_fadvise(thread->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

void access_open(struct thread *thread)
{
	struct actor *actor = thread->actor;

	thread->first = actor->at_mb * MB / PAGE_BYTES;
	if (actor->kind == SCAN)
		thread->first += thread->number * actor->pages;
	if (actor->anon) {
		map_anon(actor);
		return;
	}
	open_file(thread);
	if (actor->how == MAP || actor->how == TEXT) {
		map_file(thread);
		return;
	}
	thread->buffer = malloc(actor->block * PAGE_BYTES);
	if (!thread->buffer)
		lab_die("no memory for a block");
	memset(thread->buffer, 1, actor->block * PAGE_BYTES);
}

static void transfer(struct thread *thread, size_t page)
{
	const struct actor *actor = thread->actor;
	size_t bytes = actor->block * PAGE_BYTES;
	off_t at = page * PAGE_BYTES;
	ssize_t done = actor->how == READ ? pread(thread->fd, thread->buffer, bytes, at) :
					    pwrite(thread->fd, thread->buffer, bytes, at);

	if (done != (ssize_t)bytes)
		lab_die("cannot %s page %zu of %s", actor->how == READ ? "read" : "write", page,
			actor->file);
	if (actor->sync && (thread->count + 1) % actor->sync == 0 && fdatasync(thread->fd))
		lab_die("cannot sync %s", actor->file);
}

static void touch(char *page, uint64_t salt)
{
	uint64_t *words = (uint64_t *)page;

	if (words[0]) {
		((volatile uint64_t *)words)[0]++;
		return;
	}
	memset(words, 1, PAGE_BYTES);
	for (size_t i = 1; i < RANDOM_BYTES / sizeof(*words); i++)
		words[i] = lab_random(&salt);
}

void access_block(struct thread *thread, size_t page)
{
	const struct actor *actor = thread->actor;

	if (actor->how == READ || actor->how == WRITE) {
		transfer(thread, page);
		return;
	}
	for (size_t i = page; i < page + actor->block; i++) {
		if (actor->how == TOUCH)
			touch(actor->memory + i * PAGE_BYTES, i);
		else
			(void)*(volatile char *)(thread->buffer + i * PAGE_BYTES);
	}
}

void access_close(struct thread *thread)
{
	const struct actor *actor = thread->actor;

	if (actor->anon)
		return;
	if (actor->how == MAP || actor->how == TEXT)
		munmap(thread->buffer, (actor->at_mb + actor->mb) * MB);
	else
		free(thread->buffer);
	close(thread->fd);
}
