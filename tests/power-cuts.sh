#!/usr/bin/env bash
# Twenty power cuts of every device of the catalog, at full size: nothing that was flushed may silently be gone, and nothing at
# rest be destroyed where capacitors protect it, or firmware keeps older pages. Devices may be named instead of all; each must be cut.
set -euo pipefail
ssdlab=$(realpath "$1")
shift
drives=("$@")
if [ ${#drives[@]} = 0 ]; then
  listed=$("$ssdlab" list devices)
  mapfile -t drives < <(awk 'NF { print $1 }' <<<"$listed")
fi
cut=0 failed=0
for drive in "${drives[@]}"; do
  out=
  if ! shown=$("$ssdlab" show "$drive" 2>&1) || ! out=$("$ssdlab" test power-cut "$drive" --set cuts=20 --set event_cuts=0 2>&1); then
    echo "$drive: ${out:-$shown}" >&2
    failed=1
    continue
  fi
  figure() { awk -v name="$1" '$1 == name { print $2 }' <<<"$out"; }
  cut=$((cut + 1))
  if [ "$(figure cuts)" != 20 ]; then
    echo "$drive: $(figure cuts) cuts instead of 20" >&2
    failed=1
  fi
  if [ "$(figure flushed_lost)" != 0 ]; then
    echo "$drive: $(figure flushed_lost) times 4 KiB were lost that had been flushed" >&2
    failed=1
  fi
  if awk '$1 == "protects" && $2 != "nothing" || $1 == "keeps_older_pages" && $2 != "no" { kept = 1 } END { exit !kept }' <<<"$shown" &&
    [ "$(figure at_rest_lost)" != 0 ]; then
    echo "$drive: $(figure at_rest_lost) times 4 KiB at rest were destroyed" >&2
    failed=1
  fi
done
echo "power cuts: $cut of ${#drives[@]} devices, twenty cuts each"
[ "$cut" -gt 0 ] || failed=1
exit $failed
