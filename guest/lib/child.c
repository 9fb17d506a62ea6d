// SPDX-License-Identifier: GPL-2.0-only
/* See child.h. */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"

pid_t child_fork(void)
{
	pid_t child = fork();

	if (child < 0)
		lab_die("cannot fork");
	return child;
}

void child_offer(void)
{
	lab_write("/proc/self/oom_score_adj", "1000");
}

void child_become(char *const argv[])
{
	execvp(argv[0], argv);
	lab_die("cannot start %s", argv[0]);
}

void child_become_shell(const char *options, const char *command)
{
	execl("/bin/sh", "sh", options, command, NULL);
	lab_die("cannot start /bin/sh");
}

int child_wait(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			lab_die("cannot wait for process %d", (int)child);
	}
	return status;
}

int child_exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_was_killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

void child_check(int status, const char *format, ...)
{
	char who[256];
	va_list arguments;

	if (!status)
		return;
	va_start(arguments, format);
	vsnprintf(who, sizeof(who), format, arguments);
	va_end(arguments);
	/* No call has failed: errno, whatever it is, says nothing. */
	errno = 0;
	if (WIFSIGNALED(status))
		lab_die("%s died of signal %d", who, WTERMSIG(status));
	lab_die("%s ended with status %d", who, WEXITSTATUS(status));
}
