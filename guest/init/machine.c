// SPDX-License-Identifier: GPL-2.0-only
/* See machine.h. */
#include "machine.h"

#include "child.h"
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Any one that stays the same: a random one would differ in every boot. */
#define SWAP_UUID "6d676c72-7500-4000-8000-000000000003"
#define FILL_BYTES (1 << 20)

void machine_cgroup(const char *version)
{
	const int v1 = !strcmp(version, "1");

	errno = EINVAL;
	if (!v1 && strcmp(version, "2"))
		lab_die("cannot mount cgroup v%s", version);
	if (mount("cgroup", "/sys/fs/cgroup", v1 ? "cgroup" : "cgroup2", 0, v1 ? "memory" : NULL))
		lab_die("cannot mount cgroup v%s", version);
	if (!v1)
		lab_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
}

struct dm_request {
	struct dm_ioctl head;
	struct dm_target_spec target;
	char parameters[256];
};

static void dm_call(int control, unsigned long command, struct dm_request *request)
{
	request->head.version[0] = DM_VERSION_MAJOR;
	request->head.data_size = sizeof(*request);
	request->head.data_start = offsetof(struct dm_request, target);
	if (ioctl(control, command, request))
		lab_die("device mapper, %s", request->head.name);
}

static uint64_t sectors_of(const char *device)
{
	int fd = open(device, O_RDONLY | O_CLOEXEC);
	uint64_t bytes;

	if (fd < 0 || ioctl(fd, BLKGETSIZE64, &bytes))
		lab_die("cannot read the size of %s", device);
	close(fd);
	return bytes / 512;
}

void machine_delay(const char *name, const char *device, const char *read_ms,
		   const char *write_ms)
{
	int control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	struct dm_request request = { 0 };
	char node[64], link[256];

	if (control < 0)
		lab_die("no device mapper");
	snprintf(request.head.name, sizeof(request.head.name), "%s", name);
	dm_call(control, DM_DEV_CREATE, &request);
	snprintf(node, sizeof(node), "/dev/dm-%u", minor(request.head.dev));

	/* The kernel has written its answer over the request's head. */
	memset(&request, 0, sizeof(request));
	snprintf(request.head.name, sizeof(request.head.name), "%s", name);
	request.head.target_count = 1;
	request.target.length = sectors_of(device);
	strcpy(request.target.target_type, "delay");
	snprintf(request.parameters, sizeof(request.parameters), "%s 0 %s %s 0 %s", device, read_ms,
		 device, write_ms);
	dm_call(control, DM_TABLE_LOAD, &request);

	memset(&request, 0, sizeof(request));
	snprintf(request.head.name, sizeof(request.head.name), "%s", name);
	/* Without DM_SUSPEND_FLAG this one resumes: the table becomes active. */
	dm_call(control, DM_DEV_SUSPEND, &request);
	close(control);
	snprintf(link, sizeof(link), "/dev/mapper/%s", name);
	if (symlink(node, link))
		lab_die("cannot name %s %s", node, link);
}

void machine_fill(const char *device)
{
	int out = open(device, O_WRONLY | O_DIRECT | O_CLOEXEC);
	void *zeros;

	if (out < 0 || posix_memalign(&zeros, 4096, FILL_BYTES))
		lab_die("cannot fill %s", device);
	memset(zeros, 0, FILL_BYTES);
	while (write(out, zeros, FILL_BYTES) > 0)
		;
	if (errno != ENOSPC)
		lab_die("cannot fill %s", device);
	close(out);
	free(zeros);
}

void machine_swap(const char *device)
{
	char *argv[] = { "mkswap", "-U", SWAP_UUID, (char *)device, NULL };
	pid_t child = child_fork();

	if (!child) {
		/* It says at length what it did. */
		int nowhere = open("/dev/null", O_WRONLY);

		dup2(nowhere, STDOUT_FILENO);
		child_become(argv);
	}
	child_check(child_wait(child), "mkswap %s", device);
	if (swapon(device, 0))
		lab_die("cannot swap to %s", device);
}

void machine_loopback(void)
{
	int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (control < 0)
		return;
	/* Its address, 127.0.0.1, comes by itself. */
	if (ioctl(control, SIOCSIFFLAGS, &request))
		lab_die("cannot bring up the loopback interface");
	close(control);
}
