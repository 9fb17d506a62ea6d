/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every program inside the guest shares: the result channel, the
 * snapshots of kernel counters, and errors that reach the host.
 *
 * The channel ($MGLRU_CHANNEL) is a serial line of its own, apart from the
 * console. Every event is one line of JSON. The cgroup under test is
 * $MGLRU_CGROUP (empty: the root).
 */
#ifndef MGLRU_LAB_H
#define MGLRU_LAB_H

#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_USEC 1000ULL

/* Open the channel; every other function needs it. Dies if it cannot. */
void lab_open(void);

/* Send one JSON object, given without its braces: lab_event("\"event\":\"x\""). */
void lab_event(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Report the message (with errno's text if set) to the host and exit(1). */
void lab_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/*
 * Send all of /proc/vmstat and the cgroup's memory.stat, memory.events and
 * memory.pressure, with the time: {"event":"counters","phase":PHASE,
 * "clock_ns":N,"vmstat":{...},"memory.stat":{...},"memory.events":{...},
 * "memory.pressure":{"some":US,"full":US},"cpu.stat":{...}}. The last is the
 * processor's time, empty but where $MGLRU_CPU is set. Names are those of cgroup v2, as
 * far as v1 has the same figure.
 * The measured part of a run lies between the phases "begin" and "end".
 */
void lab_counters(const char *phase);

/* Room for what the next two return. */
#define LAB_OBJECT_SIZE 32768

/*
 * "name value" lines as a JSON object, of all names or of those in a list
 * (separated by commas; NULL: all). A file that is not there gives {}.
 */
void lab_counters_object(char *out, size_t size, const char *path, const char *wanted);

/* The cgroup's memory.pressure as {"some":US,"full":US}; {} if it has none. */
void lab_pressure_object(char *out, size_t size);

/* The path of a file of the cgroup under test, in a buffer that the next call uses again. */
const char *lab_cgroup_file(const char *name);

/*
 * Leave a mark (up to eight characters) among the kernel's trace events, if
 * they are being recorded: "join", "begin", "end".
 */
void lab_mark(const char *mark);

/* Send one figure: {"event":"metric","name":NAME,"value":VALUE}. */
void lab_metric(const char *name, double value);

/* A whole number of an option, 0 to max; dies if the text is none. */
uint64_t lab_number(const char *text, uint64_t max);

/* Steele, Lea and Flood's splitmix64: the next number, and the state for the one after it. */
uint64_t lab_random(uint64_t *state);

/*
 * Let the kernel's threads run as soon as they are woken: in virtual time a
 * program that computes would keep them from it until it waits. Inherited by
 * all threads and processes that are started afterwards.
 */
void lab_give_way(void);

/* Move the calling process into the cgroup under test. */
void lab_join(void);

/* Nanoseconds on CLOCK_MONOTONIC (virtual time on the virtual-time machines). */
uint64_t lab_now_ns(void);

/* Sleep for exactly this long (no timer slack). */
void lab_sleep_ns(uint64_t nsec);

/* Write a string to an existing file (sysfs, procfs, cgroupfs); dies on error. */
void lab_write(const char *path, const char *value);

/* Like lab_write(), but return 0, or -1 if it cannot: for what may fail. */
int lab_try_write(const char *path, const char *value);

/* The whole number of a "name value" line of a file; 0 if it has none, or cannot be read. */
long lab_value(const char *path, const char *name);

/* Read a whole (small) file into buf, NUL-terminated; -1 if it cannot be read. */
int lab_read(const char *path, char *buf, size_t size);

#endif
