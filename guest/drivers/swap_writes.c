// SPDX-License-Identifier: GPL-2.0-only
/*
 * Anonymous memory is swapped out, whole, and then written again, a word of each page. What
 * is written has no use for its place in swap any more; and it is the writer's alone, also if
 * a child had it too that has ended: nothing is copied.
 *
 *	swap_writes [--mb N] [--fork]
 *
 * Metrics: swap_kept_kb, of memory.swap.current when all has been written; pages_allocated
 * while it was, by all of the machine, for each page that was swapped in.
 */
#include "lab.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"

#define PAGE_BYTES 4096UL
#define MB (1UL << 20)
#define MAX_MB (1UL << 20)

static uint64_t mb = 32;
static bool with_child;

static void parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "mb", required_argument, NULL, 'm' },
		{ "fork", no_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case 'm': mb = lab_number(optarg, MAX_MB); break;
		case 'f': with_child = true; break;
		default:
			errno = 0;
			lab_die("swap_writes: unknown option, see guest/drivers/swap_writes.c");
		}
	}
}

/* Not of zeros, which take no place in swap. A plain store: an addition would read it first. */
static void write_all(volatile char *data, size_t bytes, char value)
{
	for (size_t at = 0; at < bytes; at += PAGE_BYTES)
		data[at] = value;
}

static void swap_out(void)
{
	char amount[32];

	snprintf(amount, sizeof(amount), "%" PRIu64 "M", mb + 4);
	/* more than there is to have: that it falls short is no error */
	for (int i = 0; i < 2; i++)
		lab_try_write(lab_cgroup_file("memory.reclaim"), amount);
}

static long allocated(void)
{
	const char *zones[] = { "pgalloc_dma", "pgalloc_dma32", "pgalloc_normal", "pgalloc_movable" };
	long pages = 0;

	for (size_t i = 0; i < sizeof(zones) / sizeof(*zones); i++) {
		long value = lab_value("/proc/vmstat", zones[i]);

		pages += value > 0 ? value : 0;
	}
	return pages;
}

static long swapped_kb(void)
{
	char text[32];

	if (lab_read(lab_cgroup_file("memory.swap.current"), text, sizeof(text)) < 0)
		lab_die("memory.swap.current");
	return atol(text) >> 10;
}

int main(int argc, char **argv)
{
	size_t bytes;
	pid_t child = 0;
	long before;
	char *data;

	lab_open();
	parse(argc, argv);
	bytes = mb * MB;
	data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		lab_die("mmap");
	lab_join();
	write_all(data, bytes, 1);
	if (with_child) {
		child = child_fork();
		if (!child) {
			pause();
			_exit(0);
		}
	}
	swap_out();
	if (child) {
		kill(child, SIGKILL);
		child_wait(child);
	}
	if (swapped_kb() < (long)(bytes >> 11))
		lab_die("not even half of it was swapped out");
	lab_counters("begin");
	before = allocated();
	write_all(data, bytes, 2);
	lab_metric("pages_allocated", (double)(allocated() - before) / (double)(bytes / PAGE_BYTES));
	lab_metric("swap_kept_kb", (double)swapped_kb());
	lab_counters("end");
	return 0;
}
