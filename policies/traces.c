/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recorded traces, in libCacheSim's format oracleGeneral: FILE:PAGES:MEASURED, a cache of
 * so many pages, the last so many accesses counted. A size of 2 in place of 1 says that the page was
 * read ahead, not used.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"

struct request {
	uint32_t time;
	uint64_t object;
	uint32_t size;
	int64_t next;
} __attribute__((packed));

static uint64_t *keys;
static int *ids;
static long slots, used;

static uint64_t spread(uint64_t v)
{
	v = (v ^ v >> 33) * 0xff51afd7ed558ccdULL;
	return v ^ v >> 29;
}

static long slot(uint64_t key)
{
	long h = spread(key) & (slots - 1);

	while (ids[h] && keys[h] != key)
		h = (h + 1) & (slots - 1);
	return h;
}

static void grow_table(void)
{
	uint64_t *old_keys = keys;
	int *old_ids = ids;
	long old = slots;

	slots = slots ? slots * 2 : 1 << 16;
	keys = calloc(slots, sizeof(*keys));
	ids = calloc(slots, sizeof(*ids));
	for (long i = 0; i < old; i++)
		if (old_ids[i]) {
			long h = slot(old_keys[i]);

			keys[h] = old_keys[i];
			ids[h] = old_ids[i];
		}
	free(old_keys);
	free(old_ids);
}

/* Return the page's number: in order of appearance. */
static long number(uint64_t object)
{
	long h;

	if (used * 2 >= slots)
		grow_table();
	h = slot(object);
	if (!ids[h]) {
		keys[h] = object;
		ids[h] = ++used;
	}
	return ids[h] - 1;
}

int load_trace(const char *name)
{
	char *path = strdup(name), *numbers = strchr(path, ':');
	int pages = 0;
	long measured;
	struct request r;
	FILE *file;

	if (!numbers || sscanf(numbers, ":%d:%ld", &pages, &measured) != 2 || pages < 64)
		return 0;
	*numbers = 0;
	file = fopen(path, "rb");
	if (!file)
		return 0;
	make_pattern("set0", pages);
	free(keys);
	free(ids);
	keys = 0;
	ids = 0;
	slots = used = 0;
	while (fread(&r, sizeof(r), 1, file) == 1)
		put_access(number(r.object), r.size == 2);
	fclose(file);
	trace.to = trace.n;
	trace.from = trace.n > measured ? trace.n - measured : 0;
	free(path);
	return pages;
}
