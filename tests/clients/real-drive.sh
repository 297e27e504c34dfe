#!/usr/bin/env bash
# The bench does not know the difference: a disk that is served, and comes back as a file by nbdfuse, is tested as a real drive,
# in real time. Its mean read must be the simulated one's within 4 %: 1,500 reads at random are known to 1 %, and FUSE takes
# some 0.1 ms of 13. Without consent it is only read. This bench reads a file as fast as fio does. What somebody uses is not written.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires nbdfuse fio python3 losetup mkfs.ext4
[ "$(id -u)" = 0 ] || { echo "real-drive: left out, since only root unmounts" && exit 77; }
drive=spinpoint-f1-1tb
settings="queue_depth=1 span_bytes=1TB prefill=none"
figure() { python3 -c 'import json, sys; print(json.load(sys.stdin)["results"][0]["metrics"][sys.argv[1]]["value"])' "$1"; }
within() {
  python3 -c 'import sys; a, b, percent = map(float, sys.argv[1:]); sys.exit(abs(a / b - 1) * 100 > percent)' "$1" "$2" "$3" ||
    { echo "$4: $1 and $2 are more than $3 % apart" >&2 && exit 1; }
}

simulated=$("$ssdlab" test random-read $drive --set $settings seconds=200 --json 2>/dev/null | figure latency_mean)
export ssdlab settings
served 'mkdir at && nbdfuse at/disk "$uri" & until [ -e at/disk ]; do sleep 0.1; done
  "$ssdlab" test random-read at/disk --set $settings seconds=20 --json >real.json &&
    ! "$ssdlab" test random-write at/disk --set $settings seconds=1 >/dev/null 2>refused
  ended=$?
  until umount at; do sleep 0.1; done
  wait && exit $ended' >"$scratch/out" 2>"$scratch/err" || { cat "$scratch/out" "$scratch/err" >&2; exit 1; }
within "$(figure latency_mean <"$scratch/real.json")" "$simulated" 4 "a served disk as a real drive"
grep -q -- "--destroy at/disk" "$scratch/refused"

# In turns, and the middle one of three: the file system is not alone on its drive.
file=$(mktemp -p .)
trap 'rm -rf "$scratch" "$file"' EXIT
dd if=/dev/urandom of="$file" bs=1M count=256 oflag=direct status=none
for _ in 1 2 3; do
  fio --name=reads --filename="$file" --direct=1 --ioengine=io_uring --iodepth=8 --rw=randread --bs=4k --time_based \
    --runtime=3 --output-format=json | python3 -c 'import json, sys; print(json.load(sys.stdin)["jobs"][0]["read"]["iops"])' \
    >>"$scratch/fio"
  "$ssdlab" test random-read "$file" --set prefill=none queue_depth=8 seconds=3 --json 2>/dev/null |
    figure iops >>"$scratch/ours"
done
# A file that a loop device stands on, and a mounted block device, are not written; a free one is trimmed, and tested.
block=$(losetup --direct-io=on -f --show "$file")
trap 'umount "$scratch/mnt" 2>/dev/null || true; losetup -d "$block" || true; rm -rf "$scratch" "$file"' EXIT
quick="--set seconds=1 settle_seconds=0 --json"
refused() {
  if "$ssdlab" test random-write "$1" --destroy "$1" $quick >/dev/null 2>"$scratch/refused"; then
    echo "$1 was written although $2" >&2 && exit 1
  fi
  grep -q "is in use" "$scratch/refused" || { cat "$scratch/refused" >&2; exit 1; }
}
refused "$file" "a loop device stands on it"
"$ssdlab" test random-write "$block" --destroy "$block" $quick >"$scratch/block.json" 2>/dev/null
grep -q "everything was trimmed" "$scratch/block.json"
mkfs.ext4 -q "$block" && mkdir "$scratch/mnt" && mount "$block" "$scratch/mnt"
refused "$block" "it is mounted"
umount "$scratch/mnt"
fsck.ext4 -fn "$block" >/dev/null 2>&1

middle() { sort -g "$1" | sed -n 2p; }
within "$(middle "$scratch/ours")" "$(middle "$scratch/fio")" 15 "reads of a file, by this bench and by fio"
