// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stress that all feel: the switches of the multi-gen LRU and its debugfs
 * commands, swap off and on, compaction, caches dropped, memory used up.
 */
#include "stress.h"

#include "child.h"
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LRU_GEN "/sys/kernel/mm/lru_gen/enabled"
#define MIN_TTL "/sys/kernel/mm/lru_gen/min_ttl_ms"
#define LRU_DEBUG "/sys/kernel/debug/lru_gen"
#define THP "/sys/kernel/mm/transparent_hugepage/"
#define FAULTS "/sys/kernel/debug/fail_page_alloc/"
#define DAMON "/sys/module/damon_lru_sort/parameters/enabled"
#define KEPT_KB 24576
#define HOG_LIMIT_NS (5 * NSEC_PER_SEC)

/* Settings that an action changes, to values that others may have. */
static struct setting {
	const char *path;
	const char *values[8];
	char before[128];
} settings[] = {
	{ "/proc/sys/vm/swappiness", { "0", "1", "60", "60", "100", "200" }, "" },
	{ "/proc/sys/vm/zone_reclaim_mode", { "0", "0", "1", "3", "7" }, "" },
	{ "/proc/sys/vm/vfs_cache_pressure", { "100", "0", "1000" }, "" },
	{ "/proc/sys/vm/page-cluster", { "0", "3", "5" }, "" },
	{ "/proc/sys/vm/compaction_proactiveness", { "0", "20", "100" }, "" },
	{ "/proc/sys/vm/watermark_scale_factor", { "10", "100", "300" }, "" },
	{ "/proc/sys/kernel/numa_balancing", { "0", "1", "2" }, "" },
	{ "/sys/kernel/mm/numa/demotion_enabled", { "0", "1" }, "" },
	{ "/sys/kernel/mm/swap/vma_ra_enabled", { "0", "1" }, "" },
	{ THP "enabled", { "always", "madvise", "never" }, "" },
	{ THP "defrag", { "always", "defer", "defer+madvise", "madvise", "never" }, "" },
	/*
	 * Not those of 2 MB, which khugepaged collapses to: stock 6.12.117 takes the small
	 * pages' count from whom it charges the huge one (docs/lab/stress.md).
	 */
	{ THP "hugepages-64kB/shmem_enabled", { "always", "advise", "never", "inherit" }, "" },
	{ THP "hugepages-64kB/enabled", { "always", "never", "inherit" }, "" },
	{ THP "hugepages-16kB/enabled", { "always", "never", "madvise" }, "" },
	{ THP "khugepaged/scan_sleep_millisecs", { "10", "100", "10000" }, "" },
	{ DAMON, { "Y", "N" }, "" },
	{ LRU_GEN, { "" }, "" },
	{ MIN_TTL, { "" }, "" },
};
#define NR_SETTINGS (sizeof(settings) / sizeof(*settings))

static int set_something(void)
{
	const struct setting *setting = settings + pick(NR_SETTINGS);
	int count = 0;

	while (count < 8 && setting->values[count] && *setting->values[count])
		count++;
	return count ? lab_try_write(setting->path, setting->values[pick(count)]) : 0;
}

/* Any of its bits, also those that this kernel does not have, and what is no number. */
static int switch_lru(void)
{
	static const char *const words[] = { "y", "n", "", "-1", "0x10000", "mglru" };
	char value[16];

	/* Mostly on, or the rest would be stress of the classic LRU. */
	if (!pick(6))
		return lab_try_write(LRU_GEN, words[pick(6)]);
	snprintf(value, sizeof(value), "0x%x", (unsigned int)(pick(0x40) | !!pick(4)));
	return lab_try_write(LRU_GEN, value);
}

/* A generation that must not go before so long: else somebody is killed. */
static int set_min_ttl(void)
{
	static const char *const values[] = { "0", "0", "1", "20", "-5" };

	return lab_try_write(MIN_TTL, values[pick(5)]);
}

struct lruvec {
	unsigned long group, node, min, max;
};

/* Take any lruvec of the list in debugfs. */
static int pick_lruvec(struct lruvec *lruvec)
{
	unsigned long group = 0, node = 0, seq = 0, age;
	char line[256], *first;
	FILE *list = fopen(LRU_DEBUG, "re");
	uint64_t seen = 0;

	if (!list)
		return -1;
	while (fgets(line, sizeof(line), list)) {
		first = line + strspn(line, " ");
		if (sscanf(first, "memcg %lu", &group) == 1 || sscanf(first, "node %lu", &node) == 1)
			continue;
		if (sscanf(first, "%lu %lu", &seq, &age) != 2)
			continue;
		/* The generations of one lie together, the oldest first. */
		if (seen && lruvec->group == group && lruvec->node == node)
			lruvec->max = seq;
		else if (!pick(++seen))
			*lruvec = (struct lruvec){ group, node, seq, seq };
	}
	fclose(list);
	return seen ? 0 : -1;
}

static int age(void)
{
	struct lruvec one;
	char command[96];

	if (pick_lruvec(&one))
		return -1;
	snprintf(command, sizeof(command), "+ %lu %lu %lu %d %d", one.group, one.node, one.max,
		 (int)pick(2), (int)pick(2));
	return lab_try_write(LRU_DEBUG, command);
}

static int evict(void)
{
	struct lruvec one;
	char command[96];

	if (pick_lruvec(&one))
		return -1;
	snprintf(command, sizeof(command), "- %lu %lu %lu %d %d", one.group, one.node,
		 one.min + pick(2), (int)pick(201), (int)pick(2048));
	return lab_try_write(LRU_DEBUG, command);
}

/* The kernel has to refuse these, whatever they mean. */
static int wrong_command(void)
{
	static const char *const commands[] = {
		"+", "-", "* 1 0 1", "+ 1", "- 1 0", "+ 1 64 1", "- 1 1000000 1", "+ 65535 0 1",
		"- 99999999 0 1", "+ 1 0 18446744073709551615", "- 1 0 18446744073709551615",
		"+ 1 0 0 2 2", "- 1 0 0 4294967295 1", "- 1 0 0 201", ";;;,\n,;", "+ 1 -1 1",
		"+ 1 0 1 1 1 1 1 1", "++++", "- -1 -1 -1 -1 -1", "+ 0 0 0\n- 0 0 0\n",
	};

	return lab_try_write(LRU_DEBUG, commands[pick(sizeof(commands) / sizeof(*commands))]);
}

static int read_lru_files(void)
{
	static char text[1 << 18];

	return lab_read(pick(2) ? LRU_DEBUG : LRU_DEBUG "_full", text, sizeof(text)) < 0 ? -1 : 0;
}

static int drop_caches(void)
{
	static const char *const values[] = { "1", "2", "3" };

	return lab_try_write("/proc/sys/vm/drop_caches", values[pick(3)]);
}

static int compact(void)
{
	char path[96];

	if (pick(2))
		return lab_try_write("/proc/sys/vm/compact_memory", "1");
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/compact",
		 (int)pick(options.nodes));
	return lab_try_write(path, "1");
}

static int reclaim_all(void)
{
	static const char *const how[] = {
		"8M", "8M swappiness=0", "4M swappiness=200", "2M swappiness=1", "64K",
		"1M swappiness=201", "1G",
	};

	return lab_try_write(CGROUPS "/memory.reclaim", how[pick(7)]);
}

static int split_huge(void)
{
	return lab_try_write("/sys/kernel/debug/split_huge_pages", "1");
}

/* In a process that may be killed: it is the first when memory is short. */
static int in_child(int (*act)(void))
{
	pid_t child = fork();

	if (child < 0)
		return -1;
	if (!child) {
		lab_try_write("/proc/self/oom_score_adj", "1000");
		_exit(act() ? 1 : 0);
	}
	return child_wait(child) ? -1 : 0;
}

static int swap_off(void)
{
	int done = swapoff(SWAP_DEVICE);

	lab_sleep_ns(pick(300) * NSEC_PER_MSEC);
	return done;
}

static int swap_off_and_on(void)
{
	int done = in_child(swap_off);

	/* The other disturber may have been faster, or memory too short: then next time. */
	if (swapon(SWAP_DEVICE, 0) && errno != EBUSY && errno != ENOMEM)
		lab_die("cannot swap to " SWAP_DEVICE);
	return done;
}

static long available_kb(void)
{
	return lab_value("/proc/meminfo", "MemAvailable:");
}

/* Take memory until there is little left, perhaps of one node only. */
static int hog(void)
{
	unsigned long nodes = pick_nodes();
	uint64_t begin = lab_now_ns();

	if (pick(2))
		syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, 64);
	for (long total = 0; total < 4096 && available_kb() > KEPT_KB && !stress->stop; total++) {
		char *memory = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);

		if (memory == MAP_FAILED || lab_now_ns() - begin > HOG_LIMIT_NS)
			break;
		for (size_t at = 0; at < MB; at += PAGE)
			memory[at] = 1;
	}
	return files_read_sparse(8 + pick(24));
}

static int use_up_memory(void)
{
	return in_child(hog);
}

static int use_up_cache(void)
{
	return files_read_sparse(16 + pick(48));
}

static void prepare_faults(void)
{
	/* Of those that ask for it, one allocation in so many hundred fails; silently. */
	lab_try_write(FAULTS "task-filter", "Y");
	lab_try_write(FAULTS "ignore-gfp-wait", "N");
	lab_try_write(FAULTS "ignore-gfp-highmem", "N");
	lab_try_write(FAULTS "min-order", "0");
	lab_try_write(FAULTS "verbose", "0");
	lab_try_write(FAULTS "times", "-1");
	lab_try_write(FAULTS "probability", "2");
}

/* Of a choice as "always [madvise] never", what stands in brackets. */
static void keep_choice(char *text)
{
	char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (end) {
		*end = '\0';
		memmove(text, begin + 1, end - begin);
	}
	text[strcspn(text, "\n")] = '\0';
}

void machine_start(void)
{
	/* Swapping off takes memory, and whoever is killed for it must not be one of these. */
	lab_try_write("/proc/self/oom_score_adj", "-1000");
	for (size_t i = 0; i < NR_SETTINGS; i++) {
		char *before = settings[i].before;

		if (lab_read(settings[i].path, before, sizeof(settings[i].before)) >= 0)
			keep_choice(before);
	}
	prepare_faults();
}

void machine_restore(void)
{
	for (size_t i = 0; i < NR_SETTINGS; i++)
		if (*settings[i].before)
			lab_try_write(settings[i].path, settings[i].before);
	lab_try_write(FAULTS "probability", "0");
	/* It may be off, if memory was too short. */
	swapoff(SWAP_DEVICE);
	if (swapon(SWAP_DEVICE, 0))
		lab_die("cannot swap to " SWAP_DEVICE);
}

static const struct action all[] = {
	{ "set", set_something, 6 },
	{ "switch_lru_gen", switch_lru, 8 },
	{ "set_min_ttl", set_min_ttl, 1 },
	{ "lru_gen_age", age, 5 },
	{ "lru_gen_evict", evict, 5 },
	{ "lru_gen_wrong", wrong_command, 2 },
	{ "lru_gen_read", read_lru_files, 2 },
	{ "drop_caches", drop_caches, 2 },
	{ "compact", compact, 4 },
	{ "reclaim_machine", reclaim_all, 6 },
	{ "split_huge_pages", split_huge, 1 },
	{ "swap_off_on", swap_off_and_on, 2 },
	{ NULL, NULL, 0 },
};

static const struct action pressure[] = {
	{ "use_up_memory", use_up_memory, 1 },
	{ "use_up_cache", use_up_cache, 2 },
	{ NULL, NULL, 0 },
};

struct actions machine_actions = { all, 0 }, pressure_actions = { pressure, 0 };
