// SPDX-License-Identifier: GPL-2.0-only
/* See lab.h. */
#include "lab.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define CPU_STAT "usage_usec,user_usec,system_usec"

static int channel = -1;

/* One write() a line, so that lines of several threads do not mix. */
static void send_line(const char *line, size_t length)
{
	while (length) {
		ssize_t written = write(channel, line, length);

		if (written < 0 && errno != EINTR)
			_exit(1);
		if (written > 0) {
			line += written;
			length -= written;
		}
	}
}

void lab_open(void)
{
	const char *path = getenv("MGLRU_CHANNEL");
	struct termios raw;

	channel = open(path ? path : "/dev/ttyS0", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (channel < 0) {
		perror("mglru: result channel");
		_exit(1);
	}
	/* Without this the terminal layer turns \n into \r\n and may echo. */
	if (!tcgetattr(channel, &raw)) {
		cfmakeraw(&raw);
		tcsetattr(channel, TCSANOW, &raw);
	}
}

void lab_event(const char *format, ...)
{
	va_list arguments;
	char *body, *line;
	int length;

	va_start(arguments, format);
	length = vasprintf(&body, format, arguments);
	va_end(arguments);
	if (length < 0)
		_exit(1);
	length = asprintf(&line, "{%s}\n", body);
	if (length < 0)
		_exit(1);
	send_line(line, length);
	free(line);
	free(body);
}

/* Copy text into a JSON string; anything unprintable becomes a space. */
static void json_text(char *out, size_t size, const char *text)
{
	size_t used = 0;

	for (; *text && used + 3 < size; text++) {
		if (*text == '"' || *text == '\\')
			out[used++] = '\\';
		out[used++] = isprint((unsigned char)*text) ? *text : ' ';
	}
	out[used] = '\0';
}

void lab_die(const char *format, ...)
{
	const int error = errno;
	char message[512], escaped[1100];
	va_list arguments;
	size_t used;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	used = strlen(message);
	if (error)
		snprintf(message + used, sizeof(message) - used, ": %s", strerror(error));
	json_text(escaped, sizeof(escaped), message);
	lab_event("\"event\":\"error\",\"message\":\"%s\"", escaped);
	fprintf(stderr, "mglru: %s\n", message);
	exit(1);
}

int lab_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;

	if (fd < 0)
		return -1;
	while (used + 1 < size && (got = read(fd, buf + used, size - 1 - used)) > 0)
		used += got;
	buf[used] = '\0';
	close(fd);
	return (int)used;
}

int lab_try_write(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int done;

	if (fd < 0)
		return -1;
	done = write(fd, value, strlen(value)) < 0 ? -1 : 0;
	close(fd);
	return done;
}

void lab_write(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		lab_die("cannot open %s", path);
	if (write(fd, value, strlen(value)) < 0)
		lab_die("cannot write '%s' to %s", value, path);
	close(fd);
}

/* cgroup v1 has names of its own for these figures of memory.stat. */
static const char *const v2_names[][2] = {
	{ "cache", "file" },		{ "rss", "anon" },
	{ "mapped_file", "file_mapped" }, { "dirty", "file_dirty" },
	{ "writeback", "file_writeback" },
};

static const char *v2_name(const char *name)
{
	for (size_t i = 0; i < sizeof(v2_names) / sizeof(*v2_names); i++) {
		if (!strcmp(name, v2_names[i][0]))
			return v2_names[i][1];
	}
	return name;
}

static int is_wanted(const char *name, const char *wanted)
{
	const char *end, *at = wanted;
	size_t length = strlen(name);

	for (; at && *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, ',');
		if ((size_t)(end - at) == length && !memcmp(at, name, length))
			return 1;
	}
	return !wanted;
}

void lab_counters_object(char *out, size_t size, const char *path, const char *wanted)
{
	char text[LAB_OBJECT_SIZE], *line, *rest = text;
	size_t used = 1;

	strcpy(out, "{");
	if (lab_read(path, text, sizeof(text)) >= 0) {
		while ((line = strsep(&rest, "\n")) && used + 128 < size) {
			char *value = strchr(line, ' ');
			const char *name;

			if (!value)
				continue;
			*value++ = '\0';
			name = v2_name(line);
			if (is_wanted(name, wanted))
				used += snprintf(out + used, size - used, "%s\"%s\":%s",
						 used > 1 ? "," : "", name, value);
		}
	}
	strcpy(out + used, "}");
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", and a line for "full". */
void lab_pressure_object(char *out, size_t size)
{
	unsigned long long some = 0, full = 0;
	char text[512];

	strcpy(out, "{}");
	if (lab_read(lab_cgroup_file("memory.pressure"), text, sizeof(text)) < 0)
		return;
	if (sscanf(text, "some %*s %*s %*s total=%llu full %*s %*s %*s total=%llu", &some, &full) == 2)
		snprintf(out, size, "{\"some\":%llu,\"full\":%llu}", some, full);
}

const char *lab_cgroup_file(const char *name)
{
	const char *cgroup = getenv("MGLRU_CGROUP");
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", cgroup ? cgroup : "", name);
	return path;
}

void lab_mark(const char *mark)
{
	int fd = open("/sys/kernel/tracing/trace_marker", O_WRONLY | O_CLOEXEC);

	/* Without a recording there is no such file. */
	if (fd < 0)
		return;
	if (write(fd, mark, strlen(mark)) < 0)
		lab_die("cannot leave the mark %s", mark);
	close(fd);
}

void lab_counters(const char *phase)
{
	static char vmstat[LAB_OBJECT_SIZE], stat[LAB_OBJECT_SIZE], events[4096], pressure[128];
	static char cpu[4096] = "{}";
	uint64_t now = lab_now_ns();

	lab_mark(phase);
	lab_counters_object(vmstat, sizeof(vmstat), "/proc/vmstat", NULL);
	lab_counters_object(stat, sizeof(stat), lab_cgroup_file("memory.stat"), NULL);
	lab_counters_object(events, sizeof(events), lab_cgroup_file("memory.events"), NULL);
	/* cgroup v1 */
	if (!strcmp(events, "{}"))
		lab_counters_object(events, sizeof(events), lab_cgroup_file("memory.oom_control"),
				    "oom_kill");
	lab_pressure_object(pressure, sizeof(pressure));
	/* Where computing is free it says nothing, and reading it takes its part in statistics. */
	if (getenv("MGLRU_CPU"))
		lab_counters_object(cpu, sizeof(cpu), lab_cgroup_file("cpu.stat"), CPU_STAT);
	lab_event("\"event\":\"counters\",\"phase\":\"%s\",\"clock_ns\":%llu,\"vmstat\":%s,"
		  "\"memory.stat\":%s,\"memory.events\":%s,\"memory.pressure\":%s,"
		  "\"cpu.stat\":%s",
		  phase, (unsigned long long)now, vmstat, stat, events, pressure, cpu);
}

void lab_metric(const char *name, double value)
{
	lab_event("\"event\":\"metric\",\"name\":\"%s\",\"value\":%.17g", name, value);
}

uint64_t lab_number(const char *text, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	/* It would take a sign, and spaces before it, too. */
	if (!isdigit((unsigned char)*text) || *end || errno || value > max) {
		errno = 0;
		lab_die("'%s' is not a number from 0 to %llu", text, (unsigned long long)max);
	}
	return value;
}

uint64_t lab_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void lab_give_way(void)
{
	const struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_IDLE, &none))
		lab_die("cannot lower the priority");
}

void lab_join(void)
{
	const char *cgroup = getenv("MGLRU_CGROUP");
	char path[512];

	if (!cgroup || !*cgroup)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	lab_write(path, "0");
	lab_mark("join");
}

uint64_t lab_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

void lab_sleep_ns(uint64_t nsec)
{
	static __thread int exact;
	struct timespec wait = {
		.tv_sec = nsec / NSEC_PER_SEC,
		.tv_nsec = nsec % NSEC_PER_SEC,
	};

	/* The default slack of 50 us would be half of a typical think time. */
	if (!exact) {
		prctl(PR_SET_TIMERSLACK, 1UL);
		exact = 1;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, &wait) == EINTR)
		;
}

long lab_value(const char *path, const char *name)
{
	static char text[65536];
	size_t length = strlen(name);

	if (lab_read(path, text, sizeof(text)) < 0)
		return 0;
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && line[length] == ' ')
			return atol(line + length);
	}
	return 0;
}
