// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel's counters have to say when a stress is over: nothing is left
 * of groups and files, and those who count the same thing agree.
 *
 * Metrics, all 0 where nothing is wrong:
 *	left_NAME		memory.stat of the groups, which are all removed, in pages
 *	more_NAME		of /proc/vmstat (isolated, dirty), than at the start
 *	zone_drift_LIST		size of a list by its zones, less that by its nodes
 *	group_drift_LIST	by the root group's memory.stat, less that by /proc/vmstat
 *	lru_gen_drift_anon, _file	by debugfs lru_gen, less that by the nodes; the largest
 * Told, but not judged: groups_left (removed, but held by something) and
 * free_pages_less (than at the start).
 */
#include "stress.h"

#include "lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VMSTAT "/proc/vmstat"
#define ROOT_STAT CGROUPS "/memory.stat"
#define LRU_DEBUG "/sys/kernel/debug/lru_gen"
#define MOST_NODES 64
#define SETTLE_NS (500 * NSEC_PER_MSEC)
/* Statistics of groups come together within two seconds. */
#define SETTLE_TRIES 40

/* Of /proc/vmstat, what has to be as it was. */
static const char *const kept[] = {
	"nr_isolated_anon", "nr_isolated_file", "nr_mlock", "nr_dirty", "nr_writeback",
	"nr_shmem", "nr_swapcached", "nr_unevictable",
};
#define NR_KEPT (sizeof(kept) / sizeof(*kept))

static long free_before, kept_before[NR_KEPT];

/* Drop what can be dropped, and let all processors hand over pages and counts that they hold. */
static void refresh(void)
{
	lab_try_write("/proc/sys/vm/drop_caches", "3");
	lab_try_write("/proc/sys/vm/stat_refresh", "1");
}

void check_start(void)
{
	refresh();
	/* This program's own pages, locked a moment ago, may still be on their way to that list. */
	for (int i = 0; i < SETTLE_TRIES; i++) {
		if (lab_value(VMSTAT, "nr_unevictable") >= lab_value(VMSTAT, "nr_mlock"))
			break;
		lab_sleep_ns(SETTLE_NS);
		refresh();
	}
	free_before = lab_value(VMSTAT, "nr_free_pages");
	for (size_t i = 0; i < NR_KEPT; i++)
		kept_before[i] = lab_value(VMSTAT, kept[i]);
}

static long groups_left(void)
{
	return lab_value(STRESS_GROUP "/cgroup.stat", "nr_dying_descendants");
}

static long report(const char *kind, const char *name, long value)
{
	char metric[96];

	snprintf(metric, sizeof(metric), "%s_%s", kind, name);
	lab_metric(metric, value);
	return value != 0;
}

/* Report the first value that is 0, or else the last of so many. */
static int settle(const char *kind, const char *name, long (*value)(const char *name))
{
	long found = value(name);

	for (int i = 0; found && i < SETTLE_TRIES; i++) {
		lab_sleep_ns(SETTLE_NS);
		refresh();
		found = value(name);
	}
	return report(kind, name, found);
}

static long left_of_groups(const char *name)
{
	return lab_value(STRESS_GROUP "/memory.stat", name) / (long)PAGE;
}

static long more_than_before(const char *name)
{
	size_t i = 0;

	while (strcmp(kept[i], name))
		i++;
	return lab_value(VMSTAT, name) - kept_before[i];
}

static long zone_drift(const char *list)
{
	char zones[64], nodes[64];

	snprintf(zones, sizeof(zones), "nr_zone_%s", list);
	snprintf(nodes, sizeof(nodes), "nr_%s", list);
	return lab_value(VMSTAT, zones) - lab_value(VMSTAT, nodes);
}

static long group_drift(const char *list)
{
	char nodes[64];

	snprintf(nodes, sizeof(nodes), "nr_%s", list);
	return lab_value(ROOT_STAT, list) / (long)PAGE - lab_value(VMSTAT, nodes);
}

static long size_of_node(int node, const char *type)
{
	char path[96], active[64], inactive[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/vmstat", node);
	if (access(path, F_OK))
		snprintf(path, sizeof(path), VMSTAT);
	snprintf(active, sizeof(active), "nr_active_%s", type);
	snprintf(inactive, sizeof(inactive), "nr_inactive_%s", type);
	return lab_value(path, active) + lab_value(path, inactive);
}

/* Sum up all generations of all groups, node by node. */
static void add_generations(long sizes[MOST_NODES], int want_file)
{
	unsigned long node = 0, seq, age, anon, file;
	FILE *list = fopen(LRU_DEBUG, "re");
	char line[256], *first;

	while (list && fgets(line, sizeof(line), list)) {
		first = line + strspn(line, " ");
		if (sscanf(first, "node %lu", &node) == 1)
			continue;
		if (sscanf(first, "%lu %lu %lu %lu", &seq, &age, &anon, &file) == 4)
			sizes[node % MOST_NODES] += want_file ? file : anon;
	}
	if (list)
		fclose(list);
}

static long lru_gen_drift(const char *type)
{
	long sizes[MOST_NODES] = { 0 }, worst = 0;

	add_generations(sizes, !strcmp(type, "file"));
	for (int node = 0; node < options.nodes; node++) {
		long drift = sizes[node] - size_of_node(node, type);

		if (labs(drift) > labs(worst))
			worst = drift;
	}
	return worst;
}

static int multi_gen(void)
{
	char text[32];

	return lab_read("/sys/kernel/mm/lru_gen/enabled", text, sizeof(text)) > 0 &&
	       strtol(text, NULL, 0) & 1;
}

int check_end(void)
{
	static const char *const groups[] = {
		"anon", "file", "shmem", "file_mapped", "file_dirty", "file_writeback",
		"swapcached", "anon_thp", "inactive_anon", "active_anon", "inactive_file",
		"active_file", "unevictable",
	};
	static const char *const lists[] = {
		"inactive_anon", "active_anon", "inactive_file", "active_file", "unevictable",
	};
	int wrong = 0;

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		wrong += settle("left", groups[i], left_of_groups);
	for (size_t i = 0; i < NR_KEPT; i++)
		wrong += settle("more", kept[i], more_than_before);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		wrong += settle("zone_drift", lists[i], zone_drift);
		wrong += settle("group_drift", lists[i], group_drift);
	}
	if (multi_gen()) {
		wrong += settle("lru_gen_drift", "anon", lru_gen_drift);
		wrong += settle("lru_gen_drift", "file", lru_gen_drift);
	}
	lab_metric("groups_left", groups_left());
	lab_metric("free_pages_less", free_before - lab_value(VMSTAT, "nr_free_pages"));
	return wrong;
}
