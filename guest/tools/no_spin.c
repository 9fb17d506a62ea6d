// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library for LD_PRELOAD, for programs that wait by doing something again
 * and again: read a coarse clock until it moves, take and give back a mutex
 * until another thread has done its part. In virtual time nothing else happens
 * while a program computes, so that would go on for ever.
 *
 * Here the coarse clocks are as fine as the others (which move a little each
 * time they are read), a thousand turns of mutexes last a microsecond, and so
 * does one sched_yield().
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURNS_A_MICROSECOND 1000
/* Who is woken waits for what this thread has: it is to have a chance before long. */
#define TURNS_A_WAKE 50

static __thread unsigned int turns;

/* Straight to the kernel: the library's own functions may be replaced, too. */
static void sleep_a_microsecond(void)
{
	struct timespec wait = { .tv_nsec = 1000 };

	prctl(PR_SET_TIMERSLACK, 1UL);
	syscall(SYS_nanosleep, &wait, NULL);
	prctl(PR_SET_TIMERSLACK, 0UL);
}

static void take_turns(unsigned int nr)
{
	turns += nr;
	if (turns >= TURNS_A_MICROSECOND) {
		turns = 0;
		sleep_a_microsecond();
	}
}

static void take_a_turn(void)
{
	take_turns(1);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock == CLOCK_MONOTONIC_COARSE)
		clock = CLOCK_MONOTONIC;
	else if (clock == CLOCK_REALTIME_COARSE)
		clock = CLOCK_REALTIME;
	return (int)syscall(SYS_clock_gettime, clock, now);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*lock)(pthread_mutex_t *mutex);

	if (!lock)
		*(void **)&lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	take_a_turn();
	return lock(mutex);
}

/* How a program comes to a futex that is not the C library's. */
long syscall(long number, ...)
{
	static long (*next)(long number, ...);
	long argument[6];
	va_list arguments;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		argument[i] = va_arg(arguments, long);
	va_end(arguments);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_futex)
		take_turns((argument[1] & FUTEX_CMD_MASK) == FUTEX_WAKE ? TURNS_A_WAKE : 1);
	return next(number, argument[0], argument[1], argument[2], argument[3], argument[4],
		    argument[5]);
}

int sched_yield(void)
{
	sleep_a_microsecond();
	return 0;
}
