// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets time pass while programs compute:
 *
 *	pace SYSCALL_US PROGRAM ARGUMENT...
 *
 * In virtual time computing is free, so that programs which compute run one
 * after another, each from its start to its end, and never compete for memory.
 * Here every system call of the program, and of all that it starts, begins so
 * much later: the work between two system calls takes that long, on as many
 * processors as there are programs. It traces them, and stays outside of their
 * memory. The exit status is the program's.
 */
#include "lab.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"

#define MAX_TASKS 1024
#define MAX_US 1000000
#define SYSCALL_STOP (SIGTRAP | 0x80)

static struct task {
	pid_t pid;
	int in_syscall;
	/* When its system call may begin; 0 while it runs. */
	uint64_t due;
} tasks[MAX_TASKS];
static int nr_tasks;

static struct task *find(pid_t pid)
{
	for (int i = 0; i < nr_tasks; i++) {
		if (tasks[i].pid == pid)
			return tasks + i;
	}
	return NULL;
}

static void add(pid_t pid)
{
	errno = 0;
	if (nr_tasks == MAX_TASKS)
		lab_die("pace: more than %d programs at once", MAX_TASKS);
	tasks[nr_tasks++] = (struct task){ .pid = pid };
}

/* A task that was killed meanwhile says so in its next status. */
static void go_on(pid_t pid, int signal)
{
	if (ptrace(PTRACE_SYSCALL, pid, NULL, (long)signal) && errno != ESRCH)
		lab_die("pace: cannot let %d go on", pid);
}

/* A system call waits for its time at its begin; everything else goes on. */
static void stopped(pid_t pid, int status, uint64_t delay)
{
	struct task *task = find(pid);

	if (!task) {
		/* New tasks begin with a SIGSTOP, which is not theirs. */
		add(pid);
		go_on(pid, 0);
	} else if (WSTOPSIG(status) == SYSCALL_STOP) {
		task->in_syscall = !task->in_syscall;
		if (task->in_syscall)
			task->due = lab_now_ns() + delay;
		else
			go_on(pid, 0);
	} else {
		go_on(pid, status >> 16 ? 0 : WSTOPSIG(status));
	}
}

/* Returns the time until the next one, 0 if there is none. */
static uint64_t start_due(void)
{
	uint64_t next = UINT64_MAX, now = lab_now_ns();

	for (struct task *task = tasks; task < tasks + nr_tasks; task++) {
		if (!task->due)
			continue;
		if (task->due <= now) {
			task->due = 0;
			go_on(task->pid, 0);
		} else if (task->due < next) {
			next = task->due;
		}
	}
	return next == UINT64_MAX ? 0 : next - now;
}

static void wait_for_child(uint64_t nsec, const sigset_t *child)
{
	struct timespec wait = {
		.tv_sec = nsec / NSEC_PER_SEC,
		.tv_nsec = nsec % NSEC_PER_SEC,
	};

	sigtimedwait(child, NULL, nsec ? &wait : NULL);
}

static void remove_task(pid_t pid)
{
	struct task *task = find(pid);

	if (task)
		*task = tasks[--nr_tasks];
}

/* Returns the first program's status, once all have ended. */
static int trace(pid_t first, uint64_t delay, const sigset_t *child)
{
	int status, result = 0;
	pid_t pid;

	add(first);
	go_on(first, 0);
	for (;;) {
		while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
			if (WIFSTOPPED(status)) {
				stopped(pid, status, delay);
				continue;
			}
			if (pid == first)
				result = status;
			remove_task(pid);
		}
		if (pid < 0 && errno == ECHILD)
			return result;
		wait_for_child(start_due(), child);
	}
}

static pid_t start(char **argv, const sigset_t *unblock)
{
	pid_t child = child_fork();

	if (child)
		return child;
	sigprocmask(SIG_UNBLOCK, unblock, NULL);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		lab_die("pace: cannot be traced");
	raise(SIGSTOP);
	child_become(argv);
}

/* Returns the program's status. */
static int run(char **argv, uint64_t delay)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	sigset_t child;
	pid_t first;
	int status;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	first = start(argv, &child);
	status = child_wait(first);
	if (!WIFSTOPPED(status))
		return status;
	if (ptrace(PTRACE_SETOPTIONS, first, NULL, options))
		lab_die("pace: cannot trace %s", *argv);
	return trace(first, delay, &child);
}

int main(int argc, char **argv)
{
	uint64_t delay = 0;
	int status;

	lab_open();
	if (argc > 2)
		delay = lab_number(argv[1], MAX_US) * NSEC_PER_USEC;
	errno = 0;
	if (!delay)
		lab_die("pace: needs SYSCALL_US PROGRAM ARGUMENT...");
	prctl(PR_SET_TIMERSLACK, 1UL);
	status = run(argv + 2, delay);
	return child_exit_status(status);
}
