// SPDX-License-Identifier: GPL-2.0-only
/* Four threads that do OPERATIONS in all; the shift is at half of them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lab.h"
#include "progress.h"

static atomic_size_t claimed;
static size_t operations;

static void *work(void *unused)
{
	(void)unused;
	for (size_t index; (index = atomic_fetch_add(&claimed, 1)) < operations;) {
		if (index == operations / 2)
			progress_shift();
		progress_add();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	lab_open();
	if (argc != 3)
		lab_die("needs OPERATIONS PLANNED");
	operations = lab_number(argv[1], 1 << 20);
	progress_init(lab_number(argv[2], 1 << 20));
	lab_counters("begin");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	lab_counters("end");
	progress_report();
	lab_event("\"event\":\"done\"");
	return 0;
}
