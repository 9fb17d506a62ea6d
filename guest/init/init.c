// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's first process. It mounts the usual file systems, says on the
 * result channel which kernel it runs on, then carries out the plan, one line
 * at a time, and powers off:
 *
 *	init PLAN [restart]
 *
 * (or restarts, on a machine that has no power switch and ends when it restarts).
 *
 * The host's files are at their own paths and, whatever a tmpfs may cover,
 * below /run/host, which is the prefix that plans use.
 *
 * A plan is text; fields are separated by tabs, so that arguments may hold
 * spaces, and a vertical tab is a newline of an argument. The first thing that fails ends the plan and is reported.
 *
 *	userland	DIR		from now on DIR is the root: its programs, its libraries
 *	symbol	NAME			report whether the kernel has this symbol
 *	cgroup	1|2			mount the memory controller on /sys/fs/cgroup
 *	disk	NAME	ATTRIBUTE=VALUE...	make a null_blk disk /dev/NAME
 *	undisk	NAME			take it away, with the memory that it has
 *	delay	NAME	DEVICE	READ_MS	WRITE_MS	dm-delay: /dev/mapper/NAME over DEVICE
 *	fill	DEVICE			write all of it, so that it has all of its memory
 *	swap	DEVICE
 *	load	IMAGE	DEVICE		copy a disk image (holes are skipped)
 *	save	DEVICE	IMAGE		copy a disk to an image (zeros become holes)
 *	mount	TYPE	SOURCE	TARGET	[OPTIONS|ro]
 *	umount	TARGET
 *	mkdir	PATH
 *	write	PATH	VALUE
 *	write_if_there	PATH	VALUE	what the kernel has no file for is left out
 *	env	NAME	VALUE		for the programs that follow
 *	lru_gen				report lru_gen/enabled
 *	counters	PHASE		send a snapshot of the counters
 *	drop_caches
 *	strict				from now on the plan ends with a step that fails
 *	step	LABEL	CGROUP	PROGRAM	ARGUMENT...	run and wait; CGROUP "-": stay
 *	spawn	LABEL	CGROUP	PROGRAM	ARGUMENT...	run in the background
 *	stop	LABEL	end a background program and what it started, and report it
 */
#include "lab.h"
#include "child.h"
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/reboot.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_FIELDS 64
#define MAX_BACKGROUND 16
/* The result channel, that of the sampler, and that of a user's program. */
#define NR_LINES 3
#define COPY_BYTES (1 << 20)
/* The smallest hole in a saved image. */
#define SAVE_BYTES (1 << 16)
/* How long a background program may take to end before it is killed. */
#define STOP_LIMIT_NS (30 * NSEC_PER_SEC)
#define STOP_POLL_NS (1000 * NSEC_PER_USEC)
/* How often to look for virtual consoles, for ten seconds. */
#define LINES_POLLS 10000
#define LINES_POLL_NS (1000 * NSEC_PER_USEC)
/* The host's files as they are, also those that a tmpfs of the guest covers. */
#define HOST_ROOT "/run/host"

struct fields {
	int count;
	char *at[MAX_FIELDS + 1];
};

static int strict;
static int last_command = LINUX_REBOOT_CMD_POWER_OFF;
static struct background {
	char *label;
	pid_t pid;
	uint64_t begin;
} background[MAX_BACKGROUND];
static int nr_background;

static void power_off(void)
{
	/* A child that could not start its program also ends here. */
	if (getpid() != 1)
		return;
	sync();
	reboot(last_command);
	_exit(1);
}

static void mount_or_die(const char *type, const char *source, const char *target,
			 const char *options)
{
	const int read_only = options && !strcmp(options, "ro");

	if (mount(source, target, type, MS_NOATIME | (read_only ? MS_RDONLY : 0),
		  read_only ? NULL : options))
		lab_die("cannot mount %s (%s) on %s", source, type, target);
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		lab_die("cannot create %s", path);
}

/* What shells and scripts expect in /dev, and devtmpfs does not have. */
static void link_files(void)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
	};

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		if (symlink(links[i][0], links[i][1]) && errno != EEXIST)
			lab_die("cannot create %s", links[i][1]);
	}
}

/* Its name is there before the line is. */
static int has_line(const char *path)
{
	int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	close(fd);
	return 1;
}

/*
 * Virtual consoles come up by themselves, one after another: with several
 * processors that may be after the kernel has started this process, which then
 * has no console.
 */
static void wait_for_lines(void)
{
	char last[32];

	if (!access("/dev/ttyS0", F_OK))
		return;
	snprintf(last, sizeof(last), "/dev/hvc%d", NR_LINES);
	for (int i = 0; i < LINES_POLLS && !has_line(last); i++)
		lab_sleep_ns(LINES_POLL_NS);
	while (fcntl(STDERR_FILENO, F_GETFD) < 0) {
		if (open("/dev/console", O_RDWR) < 0)
			return;
	}
}

/*
 * The result channel and the other lines are serial lines to all programs. On
 * x86 they are virtual consoles, of which the first is the kernel's own.
 */
static void name_lines(void)
{
	char console[32], line[32];

	wait_for_lines();
	for (int i = 0; i < NR_LINES; i++) {
		snprintf(console, sizeof(console), "/dev/hvc%d", i + 1);
		snprintf(line, sizeof(line), "/dev/ttyS%d", i);
		/* Nobody would hear that it failed: the channel is the first of them. */
		if (!access(console, F_OK) && symlink(console, line) && errno != EEXIST)
			perror(line);
	}
}

/* The host's root is read-only: everything writable is a tmpfs of the guest. */
static void mount_basics(void)
{
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	name_lines();
	lab_open();
	mount_or_die("configfs", "configfs", "/sys/kernel/config", NULL);
	mount_or_die("debugfs", "debugfs", "/sys/kernel/debug", NULL);
	mount_or_die("tmpfs", "tmpfs", "/run", NULL);
	make_dir(HOST_ROOT);
	if (mount("/", HOST_ROOT, NULL, MS_BIND, NULL))
		lab_die("cannot bind the host's root to " HOST_ROOT);
	mount_or_die("tmpfs", "tmpfs", "/tmp", NULL);
	mount_or_die("tmpfs", "tmpfs", "/mnt", NULL);
	make_dir("/dev/shm");
	mount_or_die("tmpfs", "tmpfs", "/dev/shm", NULL);
	make_dir("/mnt/data");
	link_files();
}

/*
 * From here on all paths are those of another tree, but for the guest's own
 * file systems. /run comes first: it holds the host's root, and so DIR.
 */
static void enter_userland(const char *root)
{
	static const char *const shared[] = { "/run", "/proc", "/sys", "/dev", "/tmp", "/mnt" };
	char target[4096];

	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		snprintf(target, sizeof(target), "%s%s", root, shared[i]);
		if (mount(shared[i], target, NULL, MS_BIND | MS_REC, NULL))
			lab_die("cannot bind %s to %s", shared[i], target);
	}
	if (chroot(root) || chdir("/"))
		lab_die("cannot make %s the root", root);
}

/* A kernel that knows nothing of nodes has one. */
static int count_nodes(void)
{
	char path[64];
	int nr = 0;

	do {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", nr);
	} while (!access(path, F_OK) && ++nr);
	return nr ? nr : 1;
}

static void report_kernel(void)
{
	struct utsname name;

	uname(&name);
	lab_event("\"event\":\"kernel\",\"release\":\"%s\",\"version\":\"%s\","
		  "\"cpus\":%ld,\"nodes\":%d", name.release, name.version,
		  sysconf(_SC_NPROCESSORS_ONLN), count_nodes());
}

static void report_symbol(const char *wanted)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char name[512];
	int found = 0;

	if (!symbols)
		lab_die("cannot read /proc/kallsyms");
	while (!found && fscanf(symbols, "%*s %*s %511s%*[^\n]", name) == 1)
		found = !strcmp(name, wanted);
	fclose(symbols);
	lab_event("\"event\":\"symbol\",\"name\":\"%s\",\"present\":%s", wanted,
		  found ? "true" : "false");
}

static void report_lru_gen(void)
{
	char enabled[64] = "";

	if (lab_read("/sys/kernel/mm/lru_gen/enabled", enabled, sizeof(enabled)) < 0)
		strcpy(enabled, "absent");
	enabled[strcspn(enabled, "\n")] = '\0';
	lab_event("\"event\":\"lru_gen\",\"enabled\":\"%s\"", enabled);
}

/* null_blk through configfs; since 5.19 the disk is named after the directory. */
static void make_disk(const struct fields *line)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/kernel/config/nullb/%s", line->at[1]);
	make_dir(path);
	for (int i = 2; i < line->count; i++) {
		char *value = strchr(line->at[i], '=');

		if (!value) {
			errno = 0;
			lab_die("disk attribute '%s' has no value", line->at[i]);
		}
		*value++ = '\0';
		snprintf(path, sizeof(path), "/sys/kernel/config/nullb/%s/%s", line->at[1],
			 line->at[i]);
		lab_write(path, value);
	}
	snprintf(path, sizeof(path), "/sys/kernel/config/nullb/%s/power", line->at[1]);
	lab_write(path, "1");
}

static void remove_disk(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/kernel/config/nullb/%s/power", name);
	lab_write(path, "0");
	*strrchr(path, '/') = '\0';
	if (rmdir(path))
		lab_die("cannot remove the disk %s", name);
}

static int all_zero(const char *data, size_t size)
{
	return !data[0] && !memcmp(data, data + 1, size - 1);
}

/* Where a file's data goes on after its holes, if any; a disk has none. */
static off_t next_data(int file, off_t offset)
{
	off_t found = lseek(file, offset, SEEK_DATA);

	return found < 0 && errno == EINVAL ? offset : found;
}

/* Copy past the page cache on both sides, so that a run starts with it empty. */
static void load_image(const char *image, const char *device)
{
	int in = open(image, O_RDONLY | O_CLOEXEC);
	int out = open(device, O_WRONLY | O_DIRECT | O_CLOEXEC);
	off_t offset = 0;
	ssize_t got;
	char *data;

	if (in < 0 || out < 0 || posix_memalign((void **)&data, 4096, COPY_BYTES))
		lab_die("cannot copy %s to %s", image, device);
	while ((offset = next_data(in, offset)) >= 0) {
		offset &= ~4095L;
		got = pread(in, data, COPY_BYTES, offset);
		if (got <= 0)
			break;
		if (!all_zero(data, got) && pwrite(out, data, got, offset) != got)
			lab_die("cannot write %s", device);
		posix_fadvise(in, 0, offset, POSIX_FADV_DONTNEED);
		offset += got;
	}
	close(in);
	if (close(out))
		lab_die("cannot finish %s", device);
	free(data);
}

static void save_image(const char *device, const char *image)
{
	int in = open(device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	int out = open(image, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	off_t offset = 0;
	ssize_t got;
	char *data;

	if (in < 0 || out < 0 || posix_memalign((void **)&data, 4096, SAVE_BYTES))
		lab_die("cannot copy %s to %s", device, image);
	while ((got = pread(in, data, SAVE_BYTES, offset)) > 0) {
		if (!all_zero(data, got) && pwrite(out, data, got, offset) != got)
			lab_die("cannot write %s", image);
		offset += got;
	}
	if (got < 0)
		lab_die("cannot read %s", device);
	if (ftruncate(out, offset) || fsync(out) || close(out))
		lab_die("cannot finish %s", image);
	close(in);
	free(data);
}

static pid_t start(const char *cgroup, char **argv)
{
	pid_t child = child_fork();

	/* In a group of its own, so that what it starts can be stopped with it. */
	setpgid(child, child);
	if (child)
		return child;
	if (strcmp(cgroup, "-")) {
		setenv("MGLRU_CGROUP", cgroup, 1);
		lab_join();
	}
	child_become(argv);
}

static void report_step(const char *label, int status, uint64_t begin, int stopped)
{
	lab_event("\"event\":\"step\",\"label\":\"%s\",\"status\":%d,\"signal\":%d,"
		  "\"seconds\":%.9f,\"stopped\":%s",
		  label, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		  WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		  (lab_now_ns() - begin) / (double)NSEC_PER_SEC, stopped ? "true" : "false");
}

static void run_step(const char *label, const char *cgroup, char **argv)
{
	uint64_t begin = lab_now_ns();
	int status = child_wait(start(cgroup, argv));

	report_step(label, status, begin, 0);
	if (strict)
		child_check(status, "step %s", label);
}

static void spawn(const char *label, const char *cgroup, char **argv)
{
	struct background *program = background + nr_background;

	errno = 0;
	if (nr_background == MAX_BACKGROUND)
		lab_die("more than %d background programs", MAX_BACKGROUND);
	program->begin = lab_now_ns();
	program->pid = start(cgroup, argv);
	program->label = strdup(label);
	nr_background++;
}

/* End a whole process group; its first process may have ended long ago. */
static void stop(const char *label)
{
	uint64_t deadline = lab_now_ns() + STOP_LIMIT_NS;
	int status = 0, one, stopped, number = 0;
	pid_t first, got;

	while (number < nr_background && strcmp(background[number].label, label))
		number++;
	errno = 0;
	if (number == nr_background)
		lab_die("plan: no background program '%s'", label);
	first = background[number].pid;
	stopped = !waitpid(first, &status, WNOHANG);
	kill(-first, SIGTERM);
	/* Orphans of the group are init's children, so that it reaps all of it. */
	while (!kill(-first, 0)) {
		got = waitpid(-first, &one, WNOHANG);
		if (got == first)
			status = one;
		if (got > 0)
			continue;
		if (lab_now_ns() > deadline)
			kill(-first, SIGKILL);
		lab_sleep_ns(STOP_POLL_NS);
	}
	report_step(label, status, background[number].begin, stopped);
	free(background[number].label);
	background[number] = background[--nr_background];
}

static void need(const struct fields *line, int count)
{
	if (line->count < count) {
		errno = 0;
		lab_die("plan: '%s' needs %d fields, has %d", line->at[0], count, line->count);
	}
}

static void drop_caches(void)
{
	sync();
	lab_write("/proc/sys/vm/drop_caches", "3");
}

static int carry_out_files(const struct fields *line)
{
	const char *verb = line->at[0];

	if (!strcmp(verb, "userland")) {
		need(line, 2);
		enter_userland(line->at[1]);
	} else if (!strcmp(verb, "mount")) {
		need(line, 4);
		make_dir(line->at[3]);
		mount_or_die(line->at[1], line->at[2], line->at[3],
			     line->count > 4 ? line->at[4] : NULL);
	} else if (!strcmp(verb, "umount")) {
		need(line, 2);
		if (umount(line->at[1]))
			lab_die("cannot unmount %s", line->at[1]);
	} else if (!strcmp(verb, "mkdir")) {
		need(line, 2);
		make_dir(line->at[1]);
	} else if (!strcmp(verb, "write")) {
		need(line, 3);
		lab_write(line->at[1], line->at[2]);
	} else if (!strcmp(verb, "write_if_there")) {
		need(line, 3);
		if (!access(line->at[1], F_OK))
			lab_write(line->at[1], line->at[2]);
	} else if (!strcmp(verb, "disk")) {
		need(line, 2);
		make_disk(line);
	} else if (!strcmp(verb, "undisk")) {
		need(line, 2);
		remove_disk(line->at[1]);
	} else if (!strcmp(verb, "cgroup")) {
		need(line, 2);
		machine_cgroup(line->at[1]);
	} else if (!strcmp(verb, "delay")) {
		need(line, 5);
		machine_delay(line->at[1], line->at[2], line->at[3], line->at[4]);
	} else if (!strcmp(verb, "fill")) {
		need(line, 2);
		machine_fill(line->at[1]);
	} else if (!strcmp(verb, "swap")) {
		need(line, 2);
		machine_swap(line->at[1]);
	} else if (!strcmp(verb, "load")) {
		need(line, 3);
		load_image(line->at[1], line->at[2]);
	} else if (!strcmp(verb, "save")) {
		need(line, 3);
		save_image(line->at[1], line->at[2]);
	} else {
		return 0;
	}
	return 1;
}

static void carry_out(struct fields *line)
{
	const char *verb = line->at[0];

	if (carry_out_files(line))
		return;
	if (!strcmp(verb, "symbol")) {
		need(line, 2);
		report_symbol(line->at[1]);
	} else if (!strcmp(verb, "lru_gen")) {
		report_lru_gen();
	} else if (!strcmp(verb, "env")) {
		need(line, 3);
		setenv(line->at[1], line->at[2], 1);
	} else if (!strcmp(verb, "counters")) {
		need(line, 2);
		lab_counters(line->at[1]);
	} else if (!strcmp(verb, "strict")) {
		strict = 1;
	} else if (!strcmp(verb, "drop_caches")) {
		drop_caches();
	} else if (!strcmp(verb, "step")) {
		need(line, 4);
		run_step(line->at[1], line->at[2], line->at + 3);
	} else if (!strcmp(verb, "spawn")) {
		need(line, 4);
		spawn(line->at[1], line->at[2], line->at + 3);
	} else if (!strcmp(verb, "stop")) {
		need(line, 2);
		stop(line->at[1]);
	} else {
		errno = 0;
		lab_die("plan: unknown verb '%s'", verb);
	}
}

static void split(char *text, struct fields *line)
{
	line->count = 0;
	for (char *at = text; (at = strchr(at, '\v'));)
		*at = '\n';
	while (text && line->count < MAX_FIELDS)
		line->at[line->count++] = strsep(&text, "\t");
	line->at[line->count] = NULL;
}

static void run_plan(const char *path)
{
	FILE *plan = fopen(path, "re");
	char *text = NULL, *rest, *one;
	struct fields line;
	size_t size = 0;

	/*
	 * All of it at once: a child that cannot start its program would, on its
	 * exit, set the position in the file back for both.
	 */
	if (!plan || getdelim(&text, &size, '\0', plan) < 0)
		lab_die("cannot read the plan %s", path);
	fclose(plan);
	for (rest = text; (one = strsep(&rest, "\n"));) {
		split(one, &line);
		if (*line.at[0] && *line.at[0] != '#')
			carry_out(&line);
	}
	lab_event("\"event\":\"done\"");
}

int main(int argc, char **argv)
{
	if (getpid() != 1) {
		fprintf(stderr, "mglru: this is the first process of the lab's guests\n");
		return 2;
	}
	/* Whatever dies on the way (lab_die exits), the guest must power off. */
	atexit(power_off);
	clearenv();
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	if (argc > 2 && !strcmp(argv[2], "restart"))
		last_command = LINUX_REBOOT_CMD_RESTART;
	mount_basics();
	machine_loopback();
	report_kernel();
	if (argc < 2) {
		errno = 0;
		lab_die("no plan on the kernel's command line");
	}
	run_plan(argv[1]);
	return 0;
}
