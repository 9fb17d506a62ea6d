/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of stress share: actions, random numbers, what is counted.
 *
 * An action is one thing done to memory. It may fail, if the kernel may refuse
 * it; that is counted apart. What must not fail ends the program (lab_die), and
 * what no page may hold counts as wrong.
 */
#ifndef MGLRU_STRESS_H
#define MGLRU_STRESS_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define MB (1UL << 20)
#define PAGE 4096UL
#define CGROUPS "/sys/fs/cgroup"
#define STRESS_GROUP CGROUPS "/stress"
#define SWAP_DEVICE "/dev/zram0"
#define MAX_ACTIONS 128

struct action {
	const char *name;
	/* Returns 0, or -1 if the kernel refused. */
	int (*act)(void);
	/* How often, beside the others of its table. */
	int weight;
};

/* Actions of one kind; the last one has no name. */
struct actions {
	const struct action *all;
	/* Where their counts begin. */
	int first;
};

/* What a process works on: an action is taken from one of these. */
extern struct actions memory_actions, file_actions, group_actions, machine_actions,
	pressure_actions, ng_actions;

/* Shared by all processes. */
struct stress {
	atomic_int stop;
	atomic_long created, removed, killed, faulty, wrong, failures;
	atomic_long done[MAX_ACTIONS], failed[MAX_ACTIONS];
};
extern struct stress *stress;

extern struct stress_options {
	long workers, seconds, file_mb;
	uint64_t seed;
	const char *files;
	/* The program, NULL if there is none. */
	const char *stress_ng;
	/* Memory nodes that the machine has. */
	int nodes;
} options;

/* A number below another, of this process's own sequence. */
uint64_t pick(uint64_t below);
void pick_from(uint64_t seed);

/* Do one action of a kind and count it. */
void act(const struct actions *actions);

/* A bit for each of some nodes, at least one. */
unsigned long pick_nodes(void);

/* The kernel's page names: what a page holds at its begin and end. */
void page_fill(char *data, uint64_t name);
void page_check(const volatile char *data, uint64_t name, int may_be_zero);

/* One line for people, among the kernel's own. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write to a file whose path is put together, as lab_try_write(). */
int try_write_in(const char *directory, const char *file, const char *value);

/* Memory of this process; before its first action, and again in a child after fork(). */
void memory_start(void);

/* Files that all processes work on. */
void files_open(void);
void files_close(void);
/* Part of a file without blocks, which is larger than memory, becomes page cache. */
int files_read_sparse(uint64_t megabytes);

/* Keep the machine's settings, and put them back. */
void machine_start(void);
void machine_restore(void);

/* Make groups, fill and remove them until it is time to stop; does not return. */
void groups_work(int number) __attribute__((noreturn));
void groups_start(void);
void groups_stop(void);

/* Remove what stress-ng leaves behind when it is killed. */
void ng_stop(void);

/* Compare the kernel's counters with each other and with the start; returns how many are wrong. */
void check_start(void);
int check_end(void);

#endif
