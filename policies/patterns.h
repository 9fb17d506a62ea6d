/* SPDX-License-Identifier: GPL-2.0-only */
/* Sequences of accesses to pages: generated, or read from a file. */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

struct trace {
	uint32_t *access;	/* page * 2, + 1 if it was read ahead, not used */
	long n;
	long from;		/* accesses before this one are not counted */
	long to;		/* nor are those from this one on */
	int pages;		/* numbers of pages are below this */
	float *rate;		/* how often each page is used, as it was drawn; NULL: not known */
};

extern struct trace trace;

/* The patterns that are run if none is named. */
extern const char *const train[], *const validate[];

/* Make a pattern, for a cache of so many pages. False: there is none of that name. */
bool make_pattern(const char *name, int capacity);

/* Read FILE:PAGES:MEASURED, see traces.c. Returns PAGES; 0: the file cannot be used. */
int load_trace(const char *name);

void put_access(long page, bool ahead);

#endif
