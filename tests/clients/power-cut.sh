#!/usr/bin/env bash
# The plug is pulled under a client. What it had flushed is there afterwards; what it had written since may be.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires qemu-io nbdinfo
drive=${DRIVE:-m600-256gb}
cat >"$scratch/inside.sh" <<'IN'
set -euo pipefail
state() { "$ssdlab" ctl "$unixsocket" "$@"; }
if state status | grep -q "has_plug .*false"; then
  # Every drive of the catalog has one.
  if [ -z "${DRIVE:-}" ]; then echo "the drive has no plug" >&2; exit 1; fi
  ! state cut 2>"$scratch/err"
  grep -q "has no plug that can be pulled" "$scratch/err"
  exit 0
fi
for round in 1 2 3 4 5; do
  qemu-io -f raw "$uri" -c "write -P $round 0 4M" -c flush -c "write -P 99 4M 4M" >/dev/null
  state cut >/dev/null
  if nbdinfo --size "$uri" >/dev/null 2>&1; then echo "a client came in while the power was off" >&2; exit 1; fi
  state restore >"$scratch/restored"
  qemu-io -f raw "$uri" -c "read -P $round 0 4M" | grep -q "read 4194304/4194304"
  if qemu-io -f raw "$uri" -c "read -P $round 0 4M" | grep -qi "fail"; then echo "flushed data were lost" >&2; exit 1; fi
done
state status | grep -E "unclean_shutdowns +5$" >/dev/null
IN
export ssdlab scratch
served "bash $scratch/inside.sh" 2>"$scratch/late" || { cat "$scratch/late" >&2; exit 1; }
