// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes down which pages of which files were accessed, as the kernel's
 * tracepoints saw it (src/mglru/guest/plan.py switches them on):
 *
 *	recorder DIRECTORY OUT
 *
 * for the files of the file system that DIRECTORY is on, and the marks that
 * guest programs left (lab_mark). OUT gets packed little-endian records of 24
 * bytes, in the order of the events. Dies if the kernel's buffer overflowed.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing/"
#define SUBBUFFER 4096
#define PAGE_BYTES 4096
#define MAX_FIELD 32
/* The kernel's dev_t. */
#define KERNEL_DEV(dev) ((uint64_t)major(dev) << 20 | minor(dev))

/* As in src/mglru/study/bound/accesses.py. */
enum kind { KIND_READ, KIND_WRITE, KIND_FAULT, KIND_MAP, KIND_ADD, KIND_MARK };

struct record {
	uint64_t inode;	 /* of a mark: its first eight characters */
	uint32_t index;	 /* of the first page */
	uint32_t pages;
	uint32_t pid;
	uint32_t kind;
};

_Static_assert(sizeof(struct record) == 24, "the host reads records of 24 bytes");

/* What the last field of an event tells. */
enum extent { LAST_PAGE, BYTES, ORDER, NOTHING };

/* Where a field lies in an event's entry. */
struct field {
	const char *name;
	unsigned int offset, size;
};

enum { FIELD_TYPE, FIELD_PID, FIELD_INODE, FIELD_DEV, FIELD_FIRST, FIELD_EXTENT, NR_FIELDS };

/* One tracepoint. A field without a name is one that it has not. */
static struct event {
	const char *name;
	enum kind kind;
	enum extent extent;
	struct field fields[NR_FIELDS];
	unsigned int id;
} events[] = {
#define COMMON { "common_type", 0, 0 }, { "common_pid", 0, 0 }
#define FILEMAP(kind, name, extent, field) \
	{ "filemap/mm_filemap_" name, kind, extent, \
	  { COMMON, { "i_ino", 0, 0 }, { "s_dev", 0, 0 }, { "index", 0, 0 }, { field, 0, 0 } }, 0 }
#define EXT4(name) \
	{ "ext4/" name, KIND_WRITE, BYTES, \
	  { COMMON, { "ino", 0, 0 }, { "dev", 0, 0 }, { "pos", 0, 0 }, { "len", 0, 0 } }, 0 }
	FILEMAP(KIND_READ, "get_pages", LAST_PAGE, "last_index"),
	FILEMAP(KIND_MAP, "map_pages", LAST_PAGE, "last_index"),
	FILEMAP(KIND_FAULT, "fault", NOTHING, NULL),
	FILEMAP(KIND_ADD, "add_to_page_cache", ORDER, "order"),
	EXT4("ext4_write_begin"),
	EXT4("ext4_da_write_begin"),
	{ "ftrace/print", KIND_MARK, NOTHING,
	  { COMMON, { NULL, 0, 0 }, { NULL, 0, 0 }, { "buf", 0, 0 }, { NULL, 0, 0 } }, 0 },
};

#define NR_EVENTS (sizeof(events) / sizeof(*events))

static FILE *out;
static uint64_t wanted_dev;

/* A line of a format file: "\tfield:unsigned long i_ino;\toffset:8;\tsize:8;\tsigned:0;" */
static void learn_field(struct event *event, const char *line)
{
	char name[MAX_FIELD];
	unsigned int offset, size;
	const char *end = strchr(line, ';'), *begin = end;

	if (!end || sscanf(end, "; offset:%u; size:%u;", &offset, &size) != 2)
		return;
	while (begin > line && !strchr(" :*", begin[-1]))
		begin--;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(begin, "[;"), begin);
	for (int i = 0; i < NR_FIELDS; i++) {
		struct field *field = event->fields + i;

		if (field->name && !strcmp(field->name, name)) {
			field->offset = offset;
			field->size = size;
		}
	}
}

static void learn_format(struct event *event)
{
	char path[256], line[512];
	FILE *lines;

	snprintf(path, sizeof(path), TRACING "events/%s/format", event->name);
	lines = fopen(path, "re");
	if (!lines)
		lab_die("recorder: no tracepoint %s", event->name);
	while (fgets(line, sizeof(line), lines)) {
		if (sscanf(line, "ID: %u", &event->id) != 1 && strstr(line, "field:"))
			learn_field(event, strstr(line, "field:") + strlen("field:"));
	}
	fclose(lines);
	errno = 0;
	for (int i = 0; i < NR_FIELDS; i++) {
		struct field *field = event->fields + i;

		/* A field's place is never 0 but for the first one's. */
		if (field->name && i != FIELD_TYPE && !field->offset)
			lab_die("recorder: %s has no field %s", event->name, field->name);
	}
}

static uint64_t value(const char *entry, const struct field *field)
{
	uint64_t number = 0;

	if (field->name)
		memcpy(&number, entry + field->offset, field->size < 8 ? field->size : 8);
	return number;
}

/* Which pages an entry of a file's event is about. */
static void find_pages(const struct event *event, const char *entry, struct record *record)
{
	uint64_t first = value(entry, event->fields + FIELD_FIRST);
	uint64_t extent = value(entry, event->fields + FIELD_EXTENT);

	if (event->extent == BYTES) {
		extent = (first + (extent ? extent - 1 : 0)) / PAGE_BYTES;
		first /= PAGE_BYTES;
	}
	record->index = first;
	if (event->extent == ORDER)
		record->pages = 1U << extent;
	else if (event->extent != NOTHING)
		record->pages = extent - first + 1;
}

static void put(const struct event *event, const char *entry, size_t length)
{
	struct record record = { .kind = event->kind, .pages = 1 };
	const struct field *text = event->fields + FIELD_FIRST;

	record.pid = value(entry, event->fields + FIELD_PID);
	if (event->kind == KIND_MARK) {
		size_t room = length - text->offset;

		memcpy(&record.inode, entry + text->offset, room < 8 ? room : 8);
	} else {
		if (value(entry, event->fields + FIELD_DEV) != wanted_dev)
			return;
		record.inode = value(entry, event->fields + FIELD_INODE);
		find_pages(event, entry, &record);
	}
	if (fwrite(&record, sizeof(record), 1, out) != 1)
		lab_die("recorder: cannot write");
}

static void put_entry(const char *entry, size_t length)
{
	uint64_t id = value(entry, events[0].fields + FIELD_TYPE);

	for (size_t i = 0; i < NR_EVENTS; i++) {
		if (events[i].id == id)
			put(events + i, entry, length);
	}
}

/*
 * A page of the ring buffer, as the kernel's include/linux/ring_buffer.h has
 * it: a time stamp, the number of bytes that follow, and events with a head
 * of 32 bits: 5 of type or length, 27 of time.
 */
static void put_page(const char *page)
{
	const char *at = page + 16, *end;
	uint64_t commit;

	memcpy(&commit, page + 8, sizeof(commit));
	end = at + (commit & 0xfffff);
	while (at + 4 <= end) {
		uint32_t head, length;

		memcpy(&head, at, sizeof(head));
		memcpy(&length, at + 4, sizeof(length));
		if ((head & 31) == 0) {			/* the length stands apart */
			put_entry(at + 8, length - 4);
			at += 4 + length;
		} else if ((head & 31) <= 28) {		/* data of so many words */
			put_entry(at + 4, (head & 31) * 4);
			at += 4 + (head & 31) * 4;
		} else if ((head & 31) == 29) {		/* padding */
			if (!(head >> 5))
				return;
			at += 4 + length;
		} else {				/* time */
			at += 8;
		}
	}
}

static unsigned long lost(const char *cpu)
{
	char path[64], line[128];
	unsigned long number, all = 0;
	FILE *lines;

	snprintf(path, sizeof(path), TRACING "per_cpu/%s/stats", cpu);
	lines = fopen(path, "re");
	while (lines && fgets(line, sizeof(line), lines)) {
		if (sscanf(line, "overrun: %lu", &number) == 1 ||
		    sscanf(line, "commit overrun: %lu", &number) == 1 ||
		    sscanf(line, "dropped events: %lu", &number) == 1)
			all += number;
	}
	if (lines)
		fclose(lines);
	return all;
}

static void put_pages(void)
{
	int in = open(TRACING "per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char page[SUBBUFFER];
	ssize_t got;

	if (in < 0)
		lab_die("recorder: no trace_pipe_raw");
	while ((got = read(in, page, sizeof(page))) > 0)
		put_page(page);
	if (got < 0 && errno != EAGAIN)
		lab_die("recorder: cannot read the kernel's buffer");
	close(in);
}

int main(int argc, char **argv)
{
	struct stat status;

	lab_open();
	errno = 0;
	if (argc != 3)
		lab_die("recorder: needs DIRECTORY OUT");
	if (stat(argv[1], &status))
		lab_die("recorder: no directory %s", argv[1]);
	wanted_dev = KERNEL_DEV(status.st_dev);
	lab_write(TRACING "tracing_on", "0");
	for (size_t i = 0; i < NR_EVENTS; i++)
		learn_format(events + i);
	out = fopen(argv[2], "we");
	if (!out)
		lab_die("recorder: cannot write %s", argv[2]);
	/* In virtual time there is one processor, so the events are in order. */
	errno = 0;
	if (!access(TRACING "per_cpu/cpu1", F_OK))
		lab_die("recorder: this guest has more than one processor");
	if (lost("cpu0")) {
		errno = 0;
		lab_die("recorder: %lu events did not fit the kernel's buffer", lost("cpu0"));
	}
	put_pages();
	if (fclose(out))
		lab_die("recorder: cannot finish %s", argv[2]);
	return 0;
}
