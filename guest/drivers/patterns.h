/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the program `patterns` share: see patterns.c for what an
 * actor is and does.
 */
#ifndef MGLRU_PATTERNS_H
#define MGLRU_PATTERNS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "latency.h"

#define PAGE_BYTES 4096UL
#define MB (1UL << 20)
#define MAX_ACTORS 32
#define MAX_THREADS 256

enum kind { SCAN, RANDOM, SHELL };
enum how { READ, WRITE, MAP, TEXT, TOUCH };

struct actor {
	const char *name, *file, *anon, *advice, *behind_name, *command;
	enum kind kind;
	enum how how;
	unsigned int phase;
	uint64_t at_mb, mb, block_kb, threads, think_us, batch;
	/* Where it ends: rounds of a scan, accesses of each thread, or time; 0: with its phase. */
	uint64_t rounds, ops, ms;
	/* Of random accesses. */
	double theta, zeta, zeta_two;
	uint64_t shift, sets, turn;
	/* A scan that stays so far behind another one; sync after so many blocks. */
	struct actor *behind;
	uint64_t lag_mb, sync;

	/* Of the target, in pages: of a block, of a thread's part (scan) or of a set (random). */
	size_t block, pages;
	char *memory;
	struct latencies latencies;
	pthread_t handles[MAX_THREADS];
	uint64_t begin_ns, nsec;
	/* How far a scan is, in bytes of all rounds; UINT64_MAX after its end. */
	atomic_ullong position;
	atomic_uint running;
};

/* A thread of an actor. */
struct thread {
	struct actor *actor;
	uint64_t number, count, random;
	/* When the access that is measured began. */
	uint64_t since;
	int fd;
	/* The first page of its part of the target. */
	size_t first;
	char *buffer;
};

/* Sizes in pages, and what zipfian numbers need; dies if the actor makes no sense. */
void access_prepare(struct actor *actor);

/* Open or map the target for a thread. */
void access_open(struct thread *thread);

/* The first page of the thread's next block; 0 if there is none any more. */
int access_next(struct thread *thread, size_t *page);

/* Read, write or touch a block. */
void access_block(struct thread *thread, size_t page);

/* Close what access_open() opened. */
void access_close(struct thread *thread);

#endif
