/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far a driver is at which moment, and the counters at the moment when the
 * trace's hot records become others. Only in programs built with LAB_PROGRESS:
 * in all others these are nothing at all, so that they stay what they are, to
 * the byte.
 */
#ifndef MGLRU_PROGRESS_H
#define MGLRU_PROGRESS_H

#include <stddef.h>

#ifdef LAB_PROGRESS

/* Make room for so many operations. Before the memory limit applies. */
void progress_init(size_t operations);

/* Thread-safe: send the counters as phase "shift". */
void progress_shift(void);

/* Thread-safe: one more operation is done. */
void progress_add(void);

/* Send {"event":"progress","every":N,"clock_ns":[...]}: the moment of each Nth operation's end. */
void progress_report(void);

#else

static inline void progress_init(size_t operations)
{
	(void)operations;
}

static inline void progress_shift(void)
{
}

static inline void progress_add(void)
{
}

static inline void progress_report(void)
{
}

#endif
#endif
