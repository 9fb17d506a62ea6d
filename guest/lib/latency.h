/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Latencies of operations, one by one and without loss. The memory is touched
 * when it is made, so that none of it is charged while the run is measured.
 */
#ifndef MGLRU_LATENCY_H
#define MGLRU_LATENCY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct latencies {
	uint32_t *us;
	size_t capacity;
	atomic_size_t count;
};

/* Make room for so many. */
void latencies_init(struct latencies *all, size_t capacity);

/* Add one; from any thread. */
void latencies_add(struct latencies *all, uint64_t nsec);

/*
 * Send them as {"event":"latency","name":NAME,"unit":"us","counts":[[us,count],...]},
 * ascending, in as many lines as it takes. No thread may still be adding.
 */
void latencies_report(struct latencies *all, const char *name);

/* What that many percent do not exceed, in us. Only after latencies_report(). */
uint32_t latencies_percentile(const struct latencies *all, unsigned int percent);

#endif
