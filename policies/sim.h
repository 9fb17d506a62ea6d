/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a model of a page cache policy sees: folios of one page, lists of them, and
 * the calls that it has to answer. See lru.c for the shortest one.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>

/* Reclaim asks for so many pages at a time. */
#define BATCH 32

/* A page of a file. All but prev, next and list is the policy's to use. */
struct folio {
	int32_t prev, next;
	uint32_t shadow;	/* for what eviction leaves behind; 0 at first */
	uint16_t list;		/* 0: not in the cache */
	uint8_t count;
	uint8_t flags;
	uint8_t gen;
};

struct list {
	int head, tail, size;
	uint16_t id;		/* not 0 */
};

struct param {
	const char *name;
	double *value;
};

struct policy {
	const char *name;
	const char *about;
	const struct param *params;	/* those that NAME:PARAM=VALUE sets; ends with no name */
	void (*init)(void);		/* begin with an empty cache; folios are all zero */
	void (*hit)(int p);		/* a folio in the cache was used */
	void (*insert)(int p, bool ahead);	/* comes into the cache, to be used or read ahead */
	void (*evict)(int nr);		/* evict that many folios, or a few more */
	long (*misses)(void);		/* in place of these: how many there are, of the whole trace */
	double (*share)(void);		/* what it adapts, as a part of the cache; or NULL */
	const struct policy *next;
};

extern struct folio *folios;
extern int capacity;		/* of the cache, in pages */
extern int resident;		/* how many folios are on lists */

void policy_register(struct policy *policy);

#define POLICY(p) \
	static void __attribute__((constructor)) register_##p(void) { policy_register(&p); }

static inline void list_init(struct list *l, uint16_t id)
{
	l->head = l->tail = -1;
	l->size = 0;
	l->id = id;
}

/* Add a folio where the youngest are. */
static inline void list_add(struct list *l, int p)
{
	struct folio *f = &folios[p];

	resident++;
	f->list = l->id;
	f->prev = -1;
	f->next = l->head;
	if (l->head >= 0)
		folios[l->head].prev = p;
	l->head = p;
	if (l->tail < 0)
		l->tail = p;
	l->size++;
}

/* Add a folio where the next to go are. */
static inline void list_add_tail(struct list *l, int p)
{
	struct folio *f = &folios[p];

	resident++;
	f->list = l->id;
	f->next = -1;
	f->prev = l->tail;
	if (l->tail >= 0)
		folios[l->tail].next = p;
	l->tail = p;
	if (l->head < 0)
		l->head = p;
	l->size++;
}

/* Take a folio off its list; it is not in the cache then. */
static inline void list_del(struct list *l, int p)
{
	struct folio *f = &folios[p];

	resident--;
	if (f->prev >= 0)
		folios[f->prev].next = f->next;
	else
		l->head = f->next;
	if (f->next >= 0)
		folios[f->next].prev = f->prev;
	else
		l->tail = f->prev;
	l->size--;
	f->list = 0;
}

static inline void list_move(struct list *from, struct list *to, int p)
{
	list_del(from, p);
	list_add(to, p);
}

#endif
