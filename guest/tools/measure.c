// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a program as the measured part of a run, and reads its figures off
 * what it prints:
 *
 *	measure [--join | --only-read] [--metric NAME=REGEX]... -- PROGRAM ARGUMENT...
 *
 * The counters' phases "begin" and "end" are right before and right after the
 * program. NAME is a metric: the number that the regular expression's first
 * group matches, on the last line that matches it. With --join the program
 * runs in the cgroup under test, without it a client stays outside and only
 * its server is limited. With --only-read the program is not the measured part:
 * no counters. The exit status is the program's.
 */
#include "lab.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"

#define MAX_METRICS 32

static struct metric {
	const char *name;
	regex_t pattern;
	double value;
	int found;
} metrics[MAX_METRICS];
static int nr_metrics;

static void usage(const char *problem, const char *word)
{
	errno = 0;
	lab_die("measure: %s%s", problem, word);
}

static void add_metric(char *text)
{
	struct metric *metric = metrics + nr_metrics;
	char *equals = text ? strchr(text, '=') : NULL;

	if (!equals)
		usage("--metric needs NAME=REGEX", "");
	if (nr_metrics == MAX_METRICS)
		usage("too many metrics: ", text);
	*equals = '\0';
	metric->name = text;
	if (regcomp(&metric->pattern, equals + 1, REG_EXTENDED) || !metric->pattern.re_nsub)
		usage("no regular expression with a group: ", equals + 1);
	nr_metrics++;
}

/* Returns the program's argv. */
static char **parse(char **argv, int *join, int *only_read)
{
	while (*++argv && strcmp(*argv, "--")) {
		if (!strcmp(*argv, "--join"))
			*join = 1;
		else if (!strcmp(*argv, "--only-read"))
			*only_read = 1;
		else if (!strcmp(*argv, "--metric"))
			add_metric(*++argv);
		else
			usage("unknown option ", *argv);
	}
	if (!*argv || !argv[1])
		usage("no program", "");
	return argv + 1;
}

static void match(const char *line)
{
	for (struct metric *metric = metrics; metric < metrics + nr_metrics; metric++) {
		regmatch_t at[2];
		double value;
		char *end;

		if (regexec(&metric->pattern, line, 2, at, 0) || at[1].rm_so < 0)
			continue;
		value = strtod(line + at[1].rm_so, &end);
		if (end == line + at[1].rm_so)
			continue;
		metric->value = value;
		metric->found = 1;
	}
}

static pid_t start(char **argv, int join, int *output)
{
	int ends[2];
	pid_t child;

	if (pipe(ends))
		lab_die("measure: no pipe");
	child = child_fork();
	if (!child) {
		if (join)
			lab_join();
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		child_become(argv);
	}
	close(ends[1]);
	*output = ends[0];
	return child;
}

int main(int argc, char **argv)
{
	int join = 0, only_read = 0, output, status;
	char *line = NULL;
	size_t size = 0;
	FILE *lines;
	pid_t child;

	(void)argc;
	lab_open();
	argv = parse(argv, &join, &only_read);
	if (!only_read)
		lab_counters("begin");
	child = start(argv, join, &output);
	lines = fdopen(output, "r");
	while (lines && getline(&line, &size, lines) > 0) {
		fputs(line, stdout);
		match(line);
	}
	status = child_wait(child);
	if (!only_read)
		lab_counters("end");
	for (int i = 0; i < nr_metrics; i++) {
		if (metrics[i].found)
			lab_metric(metrics[i].name, metrics[i].value);
		else if (!status)
			usage("the program printed nothing for ", metrics[i].name);
	}
	return child_exit_status(status);
}
