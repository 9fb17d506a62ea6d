/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes that a program starts, and how they ended. What goes wrong dies as lab_die() does. */
#ifndef MGLRU_CHILD_H
#define MGLRU_CHILD_H

#include <sys/types.h>

/* fork(); 0 in the child. */
pid_t child_fork(void);

/* Be the first to be killed if there is no memory. */
void child_offer(void);

/* Become the program argv[0], looked for as a shell does. */
void child_become(char *const argv[]) __attribute__((noreturn));

/* Become /bin/sh, with options ("-ec"), to run a command. */
void child_become_shell(const char *options, const char *command) __attribute__((noreturn));

/* Wait for its end (if it is traced, for its stop); returns the status as waitpid() gives it. */
int child_wait(pid_t child);

/* The status that a shell would see: 128 + the signal if it died of one. */
int child_exit_status(int status);

/* Whether SIGKILL ended it, as when there is no memory. */
int child_was_killed(int status);

/* Die with what is said about the program, and how it ended, unless it ended well. */
void child_check(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
