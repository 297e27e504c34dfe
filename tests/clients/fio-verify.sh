#!/usr/bin/env bash
# fio's nbd engine writes at random and finds everything again: overwrites, mixed sizes, flushes; then a mix of reads and
# writes for SECONDS_OF_LOAD (20) of the drive's time, each write verified a little later. SECONDS_OF_LOAD=600 takes eleven minutes.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires fio
seconds=${SECONDS_OF_LOAD:-20}
export seconds
TIMEOUT=$((600 + 2 * seconds))
served 'fio --ioengine=nbd --uri="$uri" --size=512m --iodepth=32 --verify=crc32c --verify_fatal=1 --output-format=terse \
  --name=random --rw=randwrite --bsrange=512-64k --blockalign=512 --fsync=64 \
  --name=again --stonewall --rw=randwrite --bs=4k --offset=512m --loops=2 &&
  fio --ioengine=nbd --uri="$uri" --size=256m --iodepth=16 --name=mixed --rw=randrw --bs=4k --verify=crc32c \
  --verify_backlog=256 --time_based --runtime="$seconds" --output-format=terse' >"$scratch/out" 2>"$scratch/err" || {
  cat "$scratch/out" "$scratch/err" >&2
  exit 1
}
