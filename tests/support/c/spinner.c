// SPDX-License-Identifier: GPL-2.0-only
/* Waits in all the ways that stop virtual time: `spinner clock|futex|mutex|yield`. */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int done, futex;

static void *work(void *unused)
{
	pthread_mutex_lock(&mutex);
	done = 1;
	pthread_mutex_unlock(&mutex);
	return unused;
}

static int is_done(void)
{
	int result;

	pthread_mutex_lock(&mutex);
	result = done;
	pthread_mutex_unlock(&mutex);
	return result;
}

int main(int argc, char **argv)
{
	struct timespec first, now;
	pthread_t thread;

	if (argc == 2 && !strcmp(argv[1], "clock")) {
		clock_gettime(CLOCK_MONOTONIC_COARSE, &first);
		do
			clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
		while (now.tv_sec == first.tv_sec && now.tv_nsec == first.tv_nsec);
		return 0;
	}
	pthread_create(&thread, NULL, work, NULL);
	if (argc == 2 && !strcmp(argv[1], "yield"))
		while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
			sched_yield();
	/* Another value than the futex has: it does not wait. */
	if (argc == 2 && !strcmp(argv[1], "futex"))
		while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
			syscall(SYS_futex, &futex, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	while (!is_done())
		;
	return pthread_join(thread, NULL);
}
