#!/usr/bin/env bash
# Real clients against served drives, one script a client: run-all.sh SSDLAB [SCRIPT…]
set -uo pipefail
program=$(realpath "$1")
shift
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- nbdinfo.sh nbdcopy.sh qemu.sh iscsi.sh guest.sh locking.sh libnbd.sh fio-verify.sh ext4.sh xfs.sh \
  real-drive.sh power-cut.sh drive-state.sh sqlite.sh postgresql.sh fio-rate.sh throughput.sh
failed=0 passed=0 left_out=0
for script in "$@"; do
  begun=$SECONDS
  bash "./$script" "$program"
  case $? in
    0) echo "${script%.sh}: passed, $((SECONDS - begun)) s" && passed=$((passed + 1)) ;;
    77) left_out=$((left_out + 1)) ;;
    *) echo "${script%.sh}: FAILED" && failed=1 ;;
  esac
done
echo "clients: $passed passed, $left_out left out"
[ $passed -gt 0 ] || failed=1
exit $failed
