#!/usr/bin/env bash
# libnbd's nbdinfo understands what the server says of itself.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires nbdinfo
served 'nbdinfo "$uri"; nbdinfo --map "$uri"; nbdinfo --can multi-conn "$uri"; nbdinfo --list "$uri"' >"$scratch/out" 2>/dev/null
for line in "newstyle-fixed without TLS, using structured packets" "export-size: 128035676160" "can_df: true" \
  "can_fua: true" "can_trim: true" "can_zero: true" "can_multi_conn: true" "block_size_minimum: 512" "hole,zero"; do
  grep -q "$line" "$scratch/out" || { echo "nbdinfo does not say: $line" >&2; cat "$scratch/out" >&2; exit 1; }
done
