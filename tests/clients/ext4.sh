#!/usr/bin/env bash
# ext4 on a served drive keeps a tree of files.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/file-system.sh"
requires mkfs.ext4 fsck.ext4
make="mkfs.ext4 -q" check="fsck.ext4 -fn"
test_file_system
