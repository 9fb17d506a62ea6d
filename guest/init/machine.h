/* SPDX-License-Identifier: GPL-2.0-only */
/* What a guest can have beside a plain disk: a slow one, swap, cgroups, 127.0.0.1. */
#ifndef MGLRU_MACHINE_H
#define MGLRU_MACHINE_H

/* Mount the memory controller of cgroup version "1" or "2" on /sys/fs/cgroup. */
void machine_cgroup(const char *version);

/*
 * Make /dev/mapper/NAME, a dm-delay device over all of DEVICE. Times are in
 * milliseconds; below 50 dm-delay polls, which stops virtual time.
 */
void machine_delay(const char *name, const char *device, const char *read_ms,
		   const char *write_ms);

/* Write zeros over all of DEVICE, past the page cache. */
void machine_fill(const char *device);

/* Put a swap header on DEVICE (all that it holds is lost) and swap to it. */
void machine_swap(const char *device);

/* Bring up 127.0.0.1, if the kernel has the internet protocols. */
void machine_loopback(void);

#endif
