/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The operations of a run, drawn on the host (src/mglru/experiment/trace.py) so that every
 * kernel gets the same ones: packed little-endian records of 8 bytes.
 */
#ifndef MGLRU_TRACE_H
#define MGLRU_TRACE_H

#include <stddef.h>
#include <stdint.h>

enum trace_op {
	TRACE_READ,
	TRACE_UPDATE,
	TRACE_INSERT,
	TRACE_SCAN,
	TRACE_READ_MODIFY_WRITE,
};

struct trace_record {
	uint8_t op;	  /* enum trace_op */
	uint8_t shift;	  /* from here on other records are the hot ones */
	uint16_t length;  /* records of a scan */
	uint32_t key;
};

struct trace {
	struct trace_record *at;
	size_t count;
};

/* Read a whole trace into anonymous memory, and drop the file from the page cache. */
struct trace trace_load(const char *path);

/*
 * Contents of a record: bytes that do not compress, the same for the same key
 * and version.
 */
void trace_fill(void *out, size_t size, uint64_t key, uint64_t version);

#endif
