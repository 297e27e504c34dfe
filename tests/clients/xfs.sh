#!/usr/bin/env bash
# xfs on a served drive keeps a tree of files.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/file-system.sh"
requires mkfs.xfs xfs_repair
if ! grep -qw xfs /proc/filesystems && ! modprobe -q xfs; then echo "xfs: left out, since the kernel has none"; exit 77; fi
make="mkfs.xfs -q" check="xfs_repair -n"
test_file_system
