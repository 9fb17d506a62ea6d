// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stress by others' hands: a process of a group runs one of stress-ng's stressors,
 * small and for a few seconds, beside all that the others do. What it takes is
 * charged to that group, like its libraries, if nobody has read them before.
 *
 * Not among them: those that shrink shared memory (shm, dev-shm, tmpfs), which
 * stock 6.12.117 may not survive (docs/lab/stress.md); those that would use up a
 * group at once (mlock, mlockmany, mmaptorture) or the machine (swap, resources,
 * oom-pipe); and those that only compute.
 */
#include "stress.h"

#include "child.h"
#include "lab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the directories in which stressors have their files; a process's number follows. */
#define DIRECTORY "ng-"
#define MAX_WORDS 32
#define MOST_SECONDS 3
/* Of stress-ng: what it checked was wrong, or something failed. */
#define STATUS_FAILED 2
#define STACK_LIMIT (2 * MB)
#define OPEN_DIRECTORIES 8

static const char *const common[] = {
	"--verify",
	/* Nobody is safe from being killed, and who was does not start again. */
	"--no-oom-adjust", "--oomable",
	/* Or each of them has a buffer as large as the processor's cache. */
	"--cache-size", "64K",
};
#define NR_COMMON (sizeof(common) / sizeof(*common))

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *level)
{
	(void)about;
	(void)kind;
	(void)level;
	/* Somebody else may be at it, too. */
	remove(path);
	return 0;
}

/* What is left of processes that were killed. */
static void clear_left(void)
{
	DIR *all = opendir(options.files);
	struct dirent *one;
	char path[512];

	while (all && (one = readdir(all))) {
		if (strncmp(one->d_name, DIRECTORY, strlen(DIRECTORY)))
			continue;
		if (!kill(atoi(one->d_name + strlen(DIRECTORY)), 0))
			continue;
		snprintf(path, sizeof(path), "%s/%s", options.files, one->d_name);
		nftw(path, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
	}
	if (all)
		closedir(all);
}

/* Become stress-ng, which says what it has to say to a pipe, and dies with its parent. */
static void become(const char *const *stressor, const char *directory, int output)
{
	const struct rlimit stack = { STACK_LIMIT, STACK_LIMIT };
	char seconds[24], seed[24];
	const char *words[MAX_WORDS];
	int count = 0;

	snprintf(seconds, sizeof(seconds), "%d", 1 + (int)pick(MOST_SECONDS));
	snprintf(seed, sizeof(seed), "%d", (int)pick(INT32_MAX));
	words[count++] = options.stress_ng;
	for (size_t i = 0; i < NR_COMMON; i++)
		words[count++] = common[i];
	words[count++] = "--temp-path";
	words[count++] = directory;
	words[count++] = "--timeout";
	words[count++] = seconds;
	words[count++] = "--seed";
	words[count++] = seed;
	for (int i = 0; stressor[i] && count < MAX_WORDS - 1; i++)
		words[count++] = stressor[i];
	words[count] = NULL;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_STACK, &stack);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	execv(words[0], (char *const *)words);
	_exit(127);
}

/* Memory that holds something else; the rest may be want of memory. */
static int other_contents(const char *line)
{
	static const char *const words[] = {
		"bit errors", "mismatch", "incorrect", "does not contain", "corrupt",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(line, words[i]))
			return 1;
	return 0;
}

/* Read to the end, which is that of all who write, and tell what it found wrong. */
static void hear(int input)
{
	char line[256];
	FILE *text = fdopen(input, "re");

	while (text && fgets(line, sizeof(line), text)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strstr(line, "fail:"))
			continue;
		say("%s", line);
		stress->wrong += other_contents(line);
	}
	if (text)
		fclose(text);
	else
		close(input);
}

static int run(const char *const *stressor)
{
	char directory[256];
	int status = 0, ends[2];
	pid_t child;

	clear_left();
	snprintf(directory, sizeof(directory), "%s/" DIRECTORY "%d", options.files, getpid());
	if (mkdir(directory, 0755) || pipe2(ends, O_CLOEXEC))
		return -1;
	child = fork();
	if (!child)
		become(stressor, directory, ends[1]);
	close(ends[1]);
	hear(ends[0]);
	if (child > 0)
		status = child_wait(child);
	nftw(directory, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
	if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_FAILED)
		stress->failures++;
	return child < 0 || status ? -1 : 0;
}

/* Memory segments outlive who made them; there are no others in the guest. */
void ng_stop(void)
{
	struct shmid_ds segment;
	struct shm_info all;
	int last = shmctl(0, SHM_INFO, (struct shmid_ds *)&all);

	for (int i = 0; i <= last; i++) {
		int id = shmctl(i, SHM_STAT, &segment);

		if (id >= 0)
			shmctl(id, IPC_RMID, NULL);
	}
}

#define STRESSOR(name, ...)							\
	static int name(void)							\
	{									\
		static const char *const words[] = { __VA_ARGS__, NULL };	\
										\
		return run(words);						\
	}

STRESSOR(vm, "--vm", "1", "--vm-bytes", "2M")
STRESSOR(vm_keep, "--vm", "2", "--vm-bytes", "3M", "--vm-keep", "--vm-numa")
STRESSOR(vm_locked, "--vm", "1", "--vm-bytes", "1M", "--vm-locked")
STRESSOR(vm_addr, "--vm-addr", "1")
STRESSOR(vm_rw, "--vm-rw", "1", "--vm-rw-bytes", "1M")
STRESSOR(vm_segv, "--vm-segv", "1")
STRESSOR(vm_splice, "--vm-splice", "1", "--vm-splice-bytes", "256K")
STRESSOR(map, "--mmap", "1", "--mmap-bytes", "2M", "--mmap-stressful")
STRESSOR(map_file, "--mmap", "1", "--mmap-bytes", "1M", "--mmap-file", "--mmap-async")
STRESSOR(map_addr, "--mmapaddr", "1")
STRESSOR(map_cow, "--mmapcow", "1", "--mmapcow-fork", "--mmapcow-free")
STRESSOR(map_fixed, "--mmapfixed", "1")
STRESSOR(map_fork, "--mmapfork", "1", "--mmapfork-bytes", "1M")
STRESSOR(map_huge, "--mmaphuge", "1", "--mmaphuge-mmaps", "2")
STRESSOR(map_many, "--mmapmany", "1")
STRESSOR(move_map, "--mremap", "1", "--mremap-bytes", "2M")
STRESSOR(unmap, "--munmap", "1")
STRESSOR(advise, "--madvise", "1")
STRESSOR(in_core, "--mincore", "1", "--mincore-random")
STRESSOR(protect, "--mprotect", "1")
STRESSOR(sync_map, "--msync", "1", "--msync-bytes", "1M")
STRESSOR(sync_many, "--msyncmany", "1")
STRESSOR(remap, "--remap", "1", "--remap-pages", "256")
STRESSOR(reverse_map, "--rmap", "1")
STRESSOR(move_page, "--pagemove", "1", "--pagemove-bytes", "1M", "--pagemove-numa")
STRESSOR(swap_page, "--pageswap", "1")
STRESSOR(nodes, "--numa", "1", "--numa-bytes", "1M", "--numa-shuffle-node")
STRESSOR(grow_brk, "--brk", "1", "--brk-bytes", "2M")
STRESSOR(grow_heap, "--bigheap", "1", "--bigheap-bytes", "4M", "--bigheap-growth", "65536")
STRESSOR(grow_stack, "--stack", "1", "--stack-pageout")
STRESSOR(file_stack, "--stackmmap", "1")
STRESSOR(allocate, "--malloc", "1", "--malloc-bytes", "64K", "--malloc-max", "64")
STRESSOR(memory_file, "--memfd", "1", "--memfd-bytes", "2M", "--memfd-fds", "8", "--memfd-madvise")
STRESSOR(segments, "--shm-sysv", "1", "--shm-sysv-bytes", "1M", "--shm-sysv-segs", "2")
STRESSOR(user_faults, "--userfaultfd", "1", "--userfaultfd-bytes", "1M")
STRESSOR(flush_tlb, "--tlb-shootdown", "1")
STRESSOR(copies, "--fork", "1", "--fork-max", "2", "--fork-vm", "--fork-pageout")
STRESSOR(copy, "--memcpy", "1")
STRESSOR(caches, "--cache", "1", "--cache-no-affinity")
STRESSOR(write_files, "--hdd", "1", "--hdd-bytes", "1M")
STRESSOR(ahead, "--readahead", "1", "--readahead-bytes", "1M")

static const struct action all[] = {
	{ "ng_vm", vm, 4 },
	{ "ng_vm_keep", vm_keep, 4 },
	{ "ng_vm_locked", vm_locked, 1 },
	{ "ng_vm_addr", vm_addr, 1 },
	{ "ng_vm_rw", vm_rw, 1 },
	{ "ng_vm_segv", vm_segv, 1 },
	{ "ng_vm_splice", vm_splice, 1 },
	{ "ng_mmap", map, 4 },
	{ "ng_mmap_file", map_file, 2 },
	{ "ng_mmapaddr", map_addr, 1 },
	{ "ng_mmapcow", map_cow, 2 },
	{ "ng_mmapfixed", map_fixed, 1 },
	{ "ng_mmapfork", map_fork, 1 },
	{ "ng_mmaphuge", map_huge, 2 },
	{ "ng_mmapmany", map_many, 1 },
	{ "ng_mremap", move_map, 2 },
	{ "ng_munmap", unmap, 1 },
	{ "ng_madvise", advise, 3 },
	{ "ng_mincore", in_core, 1 },
	{ "ng_mprotect", protect, 1 },
	{ "ng_msync", sync_map, 2 },
	{ "ng_msyncmany", sync_many, 1 },
	{ "ng_remap", remap, 2 },
	{ "ng_rmap", reverse_map, 2 },
	{ "ng_pagemove", move_page, 2 },
	{ "ng_pageswap", swap_page, 3 },
	{ "ng_numa", nodes, 3 },
	{ "ng_brk", grow_brk, 1 },
	{ "ng_bigheap", grow_heap, 2 },
	{ "ng_stack", grow_stack, 2 },
	{ "ng_stackmmap", file_stack, 1 },
	{ "ng_malloc", allocate, 2 },
	{ "ng_memfd", memory_file, 2 },
	{ "ng_shm_sysv", segments, 2 },
	{ "ng_userfaultfd", user_faults, 2 },
	{ "ng_tlb_shootdown", flush_tlb, 1 },
	{ "ng_fork", copies, 2 },
	{ "ng_memcpy", copy, 1 },
	{ "ng_cache", caches, 1 },
	{ "ng_hdd", write_files, 2 },
	{ "ng_readahead", ahead, 2 },
	{ NULL, NULL, 0 },
};

struct actions ng_actions = { all, 0 };
