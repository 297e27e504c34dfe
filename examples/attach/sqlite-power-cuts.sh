#!/usr/bin/env bash
# SQLite on ext4 on a simulated drive whose plug is pulled during a stream of transactions, again and again. After each
# cut: the file system is checked, and every transaction that SQLite had acknowledged is looked for.
#
#   examples/attach/sqlite-power-cuts.sh [SSDLAB [DEVICE [CUTS]]]
#
# Needs root (loop devices, mounts) and Debian's packages nbdfuse, e2fsprogs and python3. Ends with 1 if a committed
# transaction was lost. One line a cut:
#   cut 3: 412 transactions acknowledged, 412 found; ext4 recovered; drive ready after 1661 ms
set -euo pipefail
here=$(realpath "$(dirname "$0")")

if [ "${1:-}" != inside ]; then
  ssdlab=$(realpath "${1:-target/release/ssdlab}")
  export ssdlab cuts="${3:-10}"
  exec "$ssdlab" attach "${2:-m600-256gb}" --run "exec '$here/sqlite-power-cuts.sh' inside"
fi

scratch=$(mktemp -d)
mkdir "$scratch/fuse" "$scratch/mnt"
trap 'rm -rf "$scratch"' EXIT

plug_in() {
  # It complains when the drive goes.
  (nbdfuse "$scratch/fuse" "$uri" || true) 2>/dev/null &
  fuse=$!
  for _ in $(seq 200); do [ -e "$scratch/fuse/nbd" ] && break; sleep 0.05; done
  block=$(losetup --direct-io=on -f --show "$scratch/fuse/nbd")
}

plug_out() {
  umount "$scratch/mnt" 2>/dev/null || true
  losetup -d "$block"
  for _ in $(seq 100); do umount "$scratch/fuse" 2>/dev/null && break; sleep 0.05; done
  wait "$fuse" || true
}

plug_in
mkfs.ext4 -q "$block"
plug_out
: >"$scratch/acknowledged"
lost=0
for cut in $(seq "$cuts"); do
  plug_in
  mount "$block" "$scratch/mnt"
  python3 "$here/sqlite_writer.py" "$scratch/mnt/test.db" "$scratch/acknowledged" 2>/dev/null &
  writer=$!
  sleep "1.$((RANDOM % 90 + 10))"
  "$ssdlab" ctl "$control" cut >/dev/null
  wait "$writer" || true
  plug_out 2>/dev/null
  "$ssdlab" ctl "$control" restore >"$scratch/restored"

  plug_in
  recovered=clean
  fsck.ext4 -p "$block" >"$scratch/fsck" 2>&1 || { recovered="repaired (exit code $?)"; }
  if grep -q "recovering journal" "$scratch/fsck"; then recovered=recovered; fi
  mount "$block" "$scratch/mnt"
  found=$(python3 "$here/sqlite_writer.py" --check "$scratch/mnt/test.db" "$scratch/acknowledged") || lost=1
  plug_out
  ready=$(sed -n 's/^ready_after_restore_ms *\([0-9]*\).*/\1/p' "$scratch/restored")
  echo "cut $cut: $found; ext4 $recovered; drive ready after $ready ms"
done
exit "$lost"
