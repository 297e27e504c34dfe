#!/usr/bin/env bash
# Twenty power cuts of every drive of the catalog that has a plug, at full size: nothing that was flushed may silently be gone.
# Drives may be named instead of all.
set -euo pipefail
ssdlab=$(realpath "$1")
shift
drives=("$@")
if [ ${#drives[@]} = 0 ]; then
  mapfile -t drives < <("$ssdlab" list devices | awk '{ print $1 }')
fi
cut=0 failed=0
for drive in "${drives[@]}"; do
  if ! out=$("$ssdlab" test power-cut "$drive" --set cuts=20 --set event_cuts=0 2>&1); then
    if grep -q "no plug\|cannot be cut" <<<"$out"; then continue; fi
    echo "$drive: $out" >&2
    failed=1
    continue
  fi
  lost=$(awk '$1 == "flushed_lost" { print $2 }' <<<"$out")
  cut=$((cut + 1))
  if [ "$lost" != 0 ]; then
    echo "$drive: $lost times 4 KiB were lost that had been flushed" >&2
    failed=1
  fi
done
echo "power cuts: $cut drives, twenty cuts each"
exit $failed
