#!/usr/bin/env bash
# qemu-io's patterns, discards and zeroes; qemu-img convert and compare.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires qemu-io qemu-img
export scratch
served 'qemu-io -f raw "$uri" \
  -c "write -P 0xab 0 1M" -c "read -P 0xab 0 1M" \
  -c "write -f -P 0xcd 512 4096" -c "read -P 0xab 0 512" -c "read -P 0xcd 512 4096" -c "read -P 0xab 4608 512" \
  -c "discard 0 512k" -c "read -P 0 0 512k" \
  -c "write -z 1M 64k" -c "write -z -u 2M 64k" -c "read -P 0 1M 64k" -c flush' >"$scratch/out" 2>&1
if grep -qiE "fail|error" "$scratch/out"; then cat "$scratch/out" >&2; exit 1; fi
drive=ideal-32die
size=$("$ssdlab" show ideal-32die --json | grep -o '"capacity_bytes": *[0-9]*' | head -1 | grep -o '[0-9]*$')
head -c 50000000 /dev/urandom >"$scratch/raw"
truncate -s "$size" "$scratch/raw"
served 'qemu-img convert -n --target-is-zero -f raw -O raw "$scratch/raw" "$uri" && qemu-img compare -f raw -F raw "$scratch/raw" "$uri"' 2>/dev/null | grep -q "Images are identical"
