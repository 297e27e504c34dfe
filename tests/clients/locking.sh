#!/usr/bin/env bash
# sedutil locks a drive from a guest, the drive loses its power, and sedutil unlocks and reverts it (docs/locking.md). sedutil is in
# no package of Debian 12: https://github.com/Drive-Trust-Alliance/sedutil; its program `sedutil-cli` has to be in the path.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires sedutil-cli
. "$(dirname "$0")/virtual-machine.sh"
drive=m600-256gb
# shellcheck disable=SC2016
virtual_machine '
drive=/dev/sda
try() { if "$@" >/tmp/said 2>&1; then echo "ok: $2 $3"; else echo "refused: $2 $3"; fi; }
read_at() { dd if=$drive bs=4096 skip=$1 count=1 iflag=direct 2>/dev/null | head -1; }
write_at() { echo "$2" | dd of=$drive bs=4096 seek=$1 conv=sync oflag=direct 2>/dev/null; }
say() { echo "$1: range \"$(read_at 1024)\", global \"$(read_at 0)\""; }
state() { sedutil-cli --query $drive | grep -o "Locked = ., LockingEnabled = ."; }
case $1 in
lock)
  state
  write_at 0 global; write_at 1024 lost; say 1
  try sedutil-cli --initialsetup secret $drive
  try sedutil-cli --setMBREnable off secret $drive
  try sedutil-cli --setupLockingRange 1 8192 65536 secret $drive
  try sedutil-cli --enableLockingRange 1 secret $drive
  say 2
  write_at 1024 kept
  head -c 100000 /bin/busybox >/tmp/image
  try sedutil-cli --loadPBAimage secret /tmp/image $drive
  try sedutil-cli --setMBREnable on secret $drive
  try sedutil-cli --setMBRDone off secret $drive
  head -c 100000 $drive | cmp - /tmp/image && echo "the shadow is what was loaded"
  try sedutil-cli --setMBREnable off secret $drive
  say 3 ;;
unlock)
  state; say 4
  write_at 1024 written && echo "a locked range was written"
  try sedutil-cli --setLockingRange 1 RW wrong $drive
  try sedutil-cli --setLockingRange 1 RW secret $drive
  say 5
  try sedutil-cli --setLockingRange 1 RO secret $drive
  write_at 1024 written && echo "a read-only range was written"
  say 6
  try sedutil-cli --rekeyLockingRange 1 secret $drive
  say 7
  try sedutil-cli --PSIDrevert $2 $drive
  state; say 8 ;;
esac' sedutil-cli

image="$scratch/locked.ssd"
guest lock --image "$image"
told 'Locked = N, LockingEnabled = N'
told '1: range "lost", global "global"'
for order in '--initialsetup secret' '--setupLockingRange 1' '--enableLockingRange 1' '--loadPBAimage secret'; do
  told "ok: $order"
done
told 'the shadow is what was loaded'
told '3: range "kept", global "global"'
# The power was off between the two.
guest unlock,PSID --image "$image"
told 'Locked = Y, LockingEnabled = Y'
told '4: range "", global "global"'
told 'refused: --setLockingRange 1'
told 'ok: --setLockingRange 1'
told '5: range "kept", global "global"'
told '6: range "kept", global "global"'
if grep -q 'range was written' "$scratch/guest"; then cat "$scratch/guest" >&2; exit 1; fi
told 'ok: --rekeyLockingRange 1'
told '7: range "", global "global"'
grep -q '^ok: --PSIDrevert' "$scratch/guest"
told '8: range "", global ""'
told 'Locked = N, LockingEnabled = N'
