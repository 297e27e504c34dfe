#!/usr/bin/env bash
# nbdcopy writes over several connections, and reads the same bytes back; an image keeps them.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires nbdcopy
head -c 199999488 /dev/urandom >"$scratch/data"
export scratch
served 'nbdcopy "$scratch/data" "$uri"' --image "$scratch/drive.ssd" 2>/dev/null
"$ssdlab" image check "$scratch/drive.ssd" >/dev/null
served 'nbdcopy "$uri" - | head -c 199999488 | cmp - "$scratch/data"' --image "$scratch/drive.ssd" 2>/dev/null
