#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Record the logs in the folders beside this file: real guests of the lab, in real trouble.
#
#   tests/logs/record.sh KERNEL_6.12 KERNEL_7.3 DEBUG_KERNEL_6.12
#
# All three are User Mode Linux kernels as the lab builds them, the last one with
# debug.config (beside this file) on top; its trouble is made by LKDTM, the kernel's own
# test of its crash reports. Each guest leaves FOLDER/NAME.log, its console, and NAME.jsonl, its
# result channel. The host's paths and the builder's name are replaced. Needs gcc, python3
# and e2fsprogs, and takes two minutes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
stock=$(realpath "$1") newer=$(realpath "$2") debug=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tab=$(printf '\t')
guest=$here/../../guest
gcc -static -O1 -D_GNU_SOURCE -I"$guest/lib" -I"$guest/init" -o "$work/init" "$guest"/init/*.c \
	"$guest/lib/lab.c" "$guest/lib/child.c"

# boot FOLDER/NAME KERNEL LIMIT MEMORY INIT OPTION...: the plan is on stdin, with " | " for tabs.
boot() {
	name=$1 image=$2 limit=$3 memory=$4 init=$5
	shift 5
	sed "s/ | /$tab/g; s,@work@,/run/host$work,g" >"$work/plan"
	echo "$name" >&2
	timeout -s KILL "$limit" setarch -R "$image" mem="$memory" root=/dev/root \
		rootfstype=hostfs ro con=null con0=null,fd:1 ssl=null ssl0=null,fd:3 \
		null_blk.nr_devices=0 uml_dir="$work" "$@" init="$init" -- \
		"/run/host$work/plan" >"$work/log" 2>&1 3>"$work/channel" </dev/null || true
	sed "s,$work,/lab,g; s/([a-z0-9_-]*@[a-zA-Z0-9.-]*)/(lab@lab)/" \
		"$work/log" | tr -d '\r' >"$here/$name.log"
	cp "$work/channel" "$here/$name.jsonl"
	test -s "$here/$name.jsonl" || rm "$here/$name.jsonl"
}

# guest FOLDER/NAME MEMORY: in virtual time, as the lab boots it.
guest() {
	boot "$1$suffix" "$kernel" 60 "$2" "$work/init" time-travel=inf-cpu lab_seed=1 \
		time-travel-start=1700000000
}

mkdir "$work/data"
head -c 60M /dev/zero | tr '\0' x >"$work/data/file"
truncate -s 100M "$work/image"
mke2fs -q -t ext4 -b 4096 -U 00000000-0000-0000-0000-000000000001 -d "$work/data" "$work/image"
send='import socket as s; a, b = s.socketpair(s.AF_UNIX)
a.sendmsg([b"x"], [(s.SOL_SOCKET, s.SCM_RIGHTS, bytes(SIZE))])'
printf '%s\n' "$send" | sed s/SIZE/8000000/ >"$work/warn.py"
printf '%s\n' "$send" | sed s/SIZE/4000000/ >"$work/fail.py"

# What both kernels go through: the wording differs between them.
for suffix in "" -7.3; do
	kernel=$stock
	test -z "$suffix" || kernel=$newer

	guest ordinary/good 512M <<'END'
symbol | lru_gen_look_around
symbol | no_such_symbol
lru_gen
disk | data | size=100 | memory_backed=1 | blocksize=4096 | irqmode=2 | completion_nsec=80000
load | @work@/image | /dev/data
mount | ext4 | /dev/data | /mnt/data
cgroup | 2
mkdir | /sys/fs/cgroup/work
env | MGLRU_CGROUP | /sys/fs/cgroup/work
write | /sys/fs/cgroup/work/memory.max | 20M
drop_caches
counters | begin
step | first_pass | /sys/fs/cgroup/work | /bin/dd | if=/mnt/data/file | of=/dev/null | bs=64k
step | write | /sys/fs/cgroup/work | /bin/dd | if=/dev/zero | of=/mnt/data/new | bs=1M | count=8 | conv=fsync
step | second_pass | /sys/fs/cgroup/work | /bin/dd | if=/mnt/data/file | of=/dev/null | bs=64k
counters | end
END

	# Pages of a tmpfs, without swap, cannot be reclaimed: the group's own limit kills.
	guest memory/memcg-oom 512M <<'END'
lru_gen
cgroup | 2
mkdir | /sys/fs/cgroup/work
env | MGLRU_CGROUP | /sys/fs/cgroup/work
write | /sys/fs/cgroup/work/memory.max | 16M
counters | begin
step | fill | /sys/fs/cgroup/work | /bin/dd | if=/dev/zero | of=/mnt/full | bs=1M | count=40
counters | end
END

	guest memory/oom 64M <<'END'
write | /proc/sys/vm/overcommit_memory | 1
step | fill | - | /usr/bin/python3 | -c | len([bytearray(1 << 20) for _ in range(200)])
END

	# A kernel buffer of 8 MB is more than the page allocator ever gives: it warns.
	guest reports/warning 512M <<'END'
write | /proc/sys/net/core/optmem_max | 100000000
step | send | - | /usr/bin/python3 | @work@/warn.py
END

	# One of 4 MB it would give, had it any in one piece.
	guest memory/page-allocation 50M <<'END'
write | /proc/sys/net/core/optmem_max | 100000000
step | fill | - | /bin/dd | if=/dev/zero | of=/mnt/full | bs=1k | count=18500
step | send | - | /usr/bin/python3 | @work@/fail.py
END

	guest ordinary/segfault 512M <<'END'
step | killed | - | /bin/sh | -c | kill -s SEGV $$
step | crash | - | /usr/bin/python3 | -c | import ctypes; ctypes.string_at(16)
END

	boot "panics/panic$suffix" "$kernel" 30 512M /bin/false time-travel=inf-cpu </dev/null
done
suffix='' kernel=$stock

guest reports/ext4-error 512M <<'END'
disk | data | size=100 | memory_backed=1 | blocksize=4096
load | @work@/image | /dev/data
step | damage | - | /sbin/debugfs | -w | -R | set_inode_field /file block[0] 0 | /dev/data
mount | ext4 | /dev/data | /mnt/data | errors=continue
step | read | - | /bin/dd | if=/mnt/data/file | of=/dev/null | bs=64k
END

guest memory/vmalloc 512M <<'END'
write | /sys/block/zram0/disksize | 4096T
END

guest ordinary/colours 512M <<'END'
step | list | - | /bin/ls | --color=always | -ld | / | /dev | /dev/null
step | bell | - | /usr/bin/printf | \033[1;31mred\033[0m \007 \000 no newline
END

guest ordinary/guest-error 512M <<'END'
counters | begin
write | /sys/no/such/file | "quoted\"
counters | end
END

boot panics/panic-no-init "$stock" 30 512M /nonexistent time-travel=inf-cpu </dev/null

# In real time, and without end: killed at its limit, in the middle of its output.
boot ordinary/killed "$stock" 3 512M "$work/init" <<'END'
counters | begin
step | talk | - | /bin/sh | -c | while :; do printf 'working '; sleep 0.1; done
counters | end
END

# lkdtm FOLDER/NAME LIMIT TYPE OPTION...: one crash of the kernel's crash test, in real time.
lkdtm() {
	name=$1 limit=$2 type=$3
	shift 3
	echo "write | /sys/kernel/debug/provoke-crash/DIRECT | $type" |
		boot "$name" "$debug" "$limit" 512M "$work/init" "$@"
}

lkdtm panics/bug 30 BUG
lkdtm panics/kernel-fault 30 EXCEPTION
lkdtm reports/kasan 30 WRITE_AFTER_FREE
lkdtm reports/ubsan 30 ARRAY_BOUNDS
lkdtm reports/lockdep 30 SPINLOCKUP
lkdtm hangs/hung-task 8 HUNG_TASK sysctl.kernel.hung_task_timeout_secs=3
lkdtm hangs/lockup 14 SOFTLOCKUP sysctl.kernel.watchdog_thresh=3 rcupdate.rcu_cpu_stall_timeout=5
