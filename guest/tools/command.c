// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a user's program in the cgroup under test as the measured part of a
 * run, and sends what it prints to a serial line of its own:
 *
 *	command FILE
 *
 * FILE holds pairs of a key and a value, each ended by a NUL:
 *
 *	program		PATH	what is started
 *	argument	TEXT	of the program, its own name first; repeated
 *	env		NAME=VALUE	all that its environment has; repeated
 *	directory	PATH	its working directory
 *	tmp		PATH	becomes /tmp and /var/tmp
 *	input		PATH	its standard input (else nothing)
 *	output		DEVICE	gets its standard output and standard error
 *	output_limit	BYTES	what it prints beyond is passed over
 *	limit_ms	N	after so long on the guest's clock it is killed
 *	give_way	1	kernel threads run as soon as they are woken (lab_give_way)
 *
 * The counters' phases "begin" and "end" are right before its start and right
 * after its end. Then what it left running is killed. Reported as metrics:
 *
 *	exit_status	as shells have it: 128 + N for signal N
 *	exit_signal	what killed it, else 0
 *	exec_errno	why it could not be started, if so
 *	timed_out	1 if it was killed at its limit
 *	left_processes	how many it left running
 *	output_bytes	all that it printed
 *	memory_peak_mb	the most memory that the cgroup had
 *	disk_free_mb	of the working directory's file system, at the end
 *
 * This program itself stays outside of the cgroup and returns 0, however the
 * user's program ended.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "child.h"

#define COPY_BYTES 65536
/* What has been told to end may take so long to be gone. */
#define ENDING_NS (100 * NSEC_PER_MSEC)

static struct {
	const char *program, *directory, *tmp, *input, *output;
	char **arguments, **env;
	size_t nr_arguments, nr_env;
	uint64_t output_limit, limit_ns, give_way;
} job = { .output_limit = UINT64_MAX };

static uint64_t printed;

static void append(char ***list, size_t *count, char *text)
{
	*list = realloc(*list, (*count + 2) * sizeof(**list));
	if (!*list)
		lab_die("command: no memory");
	(*list)[(*count)++] = text;
	(*list)[*count] = NULL;
}

static void set(const char *key, char *value)
{
	if (!strcmp(key, "argument"))
		append(&job.arguments, &job.nr_arguments, value);
	else if (!strcmp(key, "env"))
		append(&job.env, &job.nr_env, value);
	else if (!strcmp(key, "program"))
		job.program = value;
	else if (!strcmp(key, "directory"))
		job.directory = value;
	else if (!strcmp(key, "tmp"))
		job.tmp = value;
	else if (!strcmp(key, "input"))
		job.input = value;
	else if (!strcmp(key, "output"))
		job.output = value;
	else if (!strcmp(key, "output_limit"))
		job.output_limit = lab_number(value, UINT64_MAX);
	else if (!strcmp(key, "limit_ms"))
		job.limit_ns = lab_number(value, UINT64_MAX / NSEC_PER_MSEC) * NSEC_PER_MSEC;
	else if (!strcmp(key, "give_way"))
		job.give_way = lab_number(value, 1);
	else
		lab_die("command: unknown key '%s'", key);
}

static void read_job(const char *path)
{
	FILE *file = fopen(path, "re");
	char *key = NULL, *value = NULL;
	size_t key_size = 0, value_size = 0;

	if (!file)
		lab_die("command: cannot read %s", path);
	errno = 0;
	while (getdelim(&key, &key_size, '\0', file) > 0) {
		if (getdelim(&value, &value_size, '\0', file) <= 0)
			lab_die("command: '%s' has no value", key);
		set(key, strdup(value));
	}
	fclose(file);
	if (!job.program || !job.arguments || !job.directory || !job.output)
		lab_die("command: %s lacks a program, an argument, a directory or an output", path);
}

static int open_output(void)
{
	int fd = open(job.output, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	struct termios raw;

	if (fd < 0)
		lab_die("command: cannot open %s", job.output);
	/* Without this the terminal layer turns \n into \r\n. */
	if (!tcgetattr(fd, &raw)) {
		cfmakeraw(&raw);
		tcsetattr(fd, TCSANOW, &raw);
	}
	return fd;
}

static void bind_tmp(void)
{
	if (!job.tmp)
		return;
	if (mount(job.tmp, "/tmp", NULL, MS_BIND, NULL))
		lab_die("command: cannot bind %s to /tmp", job.tmp);
	/* A host need not have it. */
	mount(job.tmp, "/var/tmp", NULL, MS_BIND, NULL);
}

/* In the child; does not return. */
static void become_program(int output, int failed)
{
	int input = open(job.input ? job.input : "/dev/null", O_RDONLY);
	int error;

	setsid();
	if (job.give_way)
		lab_give_way();
	lab_join();
	if (input >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
	    dup2(output, STDERR_FILENO) >= 0 && !chdir(job.directory)) {
		if (input > STDERR_FILENO)
			close(input);
		execve(job.program, job.arguments, job.env);
	}
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* Returns the child; *output is what it prints, *error why it could not start. */
static pid_t start(int *output, int *error)
{
	int prints[2], failed[2];
	pid_t child;

	if (pipe2(prints, O_CLOEXEC) || pipe2(failed, O_CLOEXEC))
		lab_die("command: no pipe");
	child = child_fork();
	if (!child)
		become_program(prints[1], failed[1]);
	close(prints[1]);
	close(failed[1]);
	/* The end of file comes when the program has started, or is dead. */
	if (read(failed[0], error, sizeof(*error)) != sizeof(*error))
		*error = 0;
	close(failed[0]);
	fcntl(prints[0], F_SETFL, O_NONBLOCK);
	*output = prints[0];
	return child;
}

static void forward(int to, const char *data, size_t size)
{
	uint64_t room = job.output_limit - (printed < job.output_limit ? printed : job.output_limit);
	size_t rest = size < room ? size : room;

	printed += size;
	while (rest) {
		ssize_t written = write(to, data, rest);

		if (written < 0 && errno != EINTR)
			lab_die("command: cannot write the output");
		if (written > 0) {
			data += written;
			rest -= written;
		}
	}
}

/* Copy what is there; 0 at the end of it. */
static int copy(int from, int to)
{
	static char buffer[COPY_BYTES];
	ssize_t got;

	while ((got = read(from, buffer, sizeof(buffer))) > 0)
		forward(to, buffer, got);
	return got < 0 && errno == EAGAIN;
}

/* Milliseconds until then, for poll(); -1: for ever. */
static int rest_ms(uint64_t deadline)
{
	uint64_t now = lab_now_ns(), rest;

	if (!deadline)
		return -1;
	rest = deadline > now ? (deadline - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC : 0;
	return rest < INT_MAX ? (int)rest : INT_MAX;
}

/* Pass on what the program prints until it has ended; returns 0 at its limit. */
static int watch(pid_t child, int from, int to)
{
	uint64_t deadline = job.limit_ns ? lab_now_ns() + job.limit_ns : 0;
	struct pollfd fds[] = {
		{ .fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN },
		{ .fd = from, .events = POLLIN },
	};

	if (fds[0].fd < 0)
		lab_die("command: no file descriptor for the program");
	for (;;) {
		int ready = poll(fds, 2, rest_ms(deadline));

		if (ready < 0 && errno != EINTR)
			lab_die("command: cannot wait");
		if (ready > 0 && fds[0].revents)
			break;
		if (ready > 0 && fds[1].revents && !copy(from, to))
			fds[1].fd = -1;
		/* A program that never stops printing has a limit, too. */
		if (deadline && lab_now_ns() >= deadline)
			return 0;
	}
	close(fds[0].fd);
	return 1;
}

static void cgroup_path(char *path, size_t size, const char *name)
{
	const char *cgroup = getenv("MGLRU_CGROUP");

	snprintf(path, size, "%s/%s", cgroup ? cgroup : "", name);
}

static int count_left(void)
{
	char path[512], text[65536];
	int count = 0;

	cgroup_path(path, sizeof(path), "cgroup.procs");
	if (lab_read(path, text, sizeof(text)) < 0)
		return 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

/* How many processes are there that do not end by themselves at once. */
static int left_running(void)
{
	uint64_t deadline = lab_now_ns() + ENDING_NS;

	while (count_left() && lab_now_ns() < deadline)
		lab_sleep_ns(NSEC_PER_MSEC);
	return count_left();
}

static void kill_all(void)
{
	char path[512];

	cgroup_path(path, sizeof(path), "cgroup.kill");
	lab_write(path, "1");
}

/* The pipe ends when all who could write to it are gone. */
static void drain(int from, int to)
{
	struct pollfd fd = { .fd = from, .events = POLLIN };

	while (copy(from, to) && poll(&fd, 1, ENDING_NS / NSEC_PER_MSEC) > 0)
		;
}

static void report(int status, int error, int timed_out, int left)
{
	char path[512], text[64];
	struct statvfs disk;

	lab_metric("exit_status", child_exit_status(status));
	lab_metric("exit_signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	if (error)
		lab_metric("exec_errno", error);
	lab_metric("timed_out", timed_out);
	lab_metric("left_processes", left);
	lab_metric("output_bytes", printed);
	cgroup_path(path, sizeof(path), "memory.peak");
	if (lab_read(path, text, sizeof(text)) > 0)
		lab_metric("memory_peak_mb", strtod(text, NULL) / 1e6);
	if (!statvfs(job.directory, &disk))
		lab_metric("disk_free_mb", disk.f_bavail * (double)disk.f_frsize / 1e6);
}

int main(int argc, char **argv)
{
	int from, to, error, timed_out, left, status;
	pid_t child;

	lab_open();
	errno = 0;
	if (argc != 2)
		lab_die("command: needs the name of a file");
	read_job(argv[1]);
	to = open_output();
	bind_tmp();
	lab_counters("begin");
	child = start(&from, &error);
	timed_out = !watch(child, from, to);
	lab_counters("end");
	if (timed_out)
		kill_all();
	status = child_wait(child);
	left = left_running();
	if (left)
		kill_all();
	drain(from, to);
	report(status, error, timed_out, left);
	return 0;
}
