#!/bin/busybox sh
# The first process under the kernel that is tested: makes the place that a program finds on a server, runs the one that
# /command names, and says how it ended, on the second serial line.

/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
echo always >/sys/kernel/mm/transparent_hugepage/enabled

# Version 2 only, as on a server with systemd: processes stand in leaves, controllers are handed down from the root.
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir /sys/fs/cgroup/init
echo $$ >/sys/fs/cgroup/init/cgroup.procs
echo '+memory +cpu' >/sys/fs/cgroup/cgroup.subtree_control

export TESTED_LIB=/tests/libhakmem.so TESTED_VARIANT=standard
{
    echo "under $(uname -srv)"
    set --
    while read -r word; do
        set -- "$@" "$word"
    done </command
    LD_PRELOAD=$TESTED_LIB env "$@" </dev/null
    status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || dmesg | tail -n 30 >/dev/ttyS0
    echo "exit status $status"
} >/dev/ttyS1 2>&1
reboot -f
