#!/usr/bin/env bash
# An image holds the drive: bytes, wear and counters go on after a detach, and after kill -9, which counts as a power cut.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires nbdcopy fio python3
export ssdlab scratch
bytes=99999744
head -c $bytes /dev/urandom >"$scratch/data"
cat >"$scratch/smart.py" <<'PY'
import json, sys
rows = {row["name"]: row["raw"] for row in json.load(sys.stdin)["attributes"]}
print(rows["Total_LBAs_Written"], rows["Power_Cycle_Count"], rows["Unexpect_Power_Loss_Ct"])
PY
smart='"$ssdlab" ctl --json "$control" smart | python3 "$scratch/smart.py"'
same="nbdcopy \"\$uri\" \"\$scratch/copy\" && head -c $bytes \"\$scratch/copy\" | cmp - \"\$scratch/data\" && rm \"\$scratch/copy\""
wrong() { echo "$*" >&2 && exit 1; }

served "nbdcopy \"\$scratch/data\" \"\$uri\" && $smart" --image drive.ssd >"$scratch/out" 2>/dev/null
read -r written cycles unclean <"$scratch/out"
[ "$written" -ge $((bytes / 512)) ] && [ "$cycles $unclean" = "1 0" ] || wrong "new: $written $cycles $unclean"
served "$smart" --image drive.ssd >"$scratch/out" 2>/dev/null
read -r again cycles unclean <"$scratch/out"
[ "$again $cycles $unclean" = "$written 2 0" ] || wrong "after a detach: $again $cycles $unclean"

# Killed after it was written to, without a flush: what is there is what the client was told.
(cd "$scratch" && exec "$ssdlab" attach "$drive" --image drive.ssd --socket "$scratch/socket") >/dev/null &
server=$!
trap 'kill -9 "$server" 2>/dev/null || true; rm -rf "$scratch"' EXIT
until [ -S "$scratch/socket" ]; do
  kill -0 "$server" 2>/dev/null || wrong "the server has ended before it listened"
  sleep 0.1
done
fill="--name=fill --ioengine=nbd --rw=randwrite --bs=4k --offset=200m --size=64m --iodepth=8 --verify=crc32c --verify_state_save=0"
fio $fill --uri="nbd+unix:///?socket=$scratch/socket" --do_verify=0 --output="$scratch/fio.log" >/dev/null
kill -9 "$server"
wait "$server" 2>/dev/null || true
trap 'rm -rf "$scratch"' EXIT
verified="fio $fill --uri=\"\$uri\" --verify_only --verify_fatal=1 --output=\"\$scratch/fio.log\" >/dev/null"
served "$same && $verified && $smart" --image drive.ssd >"$scratch/out" 2>/dev/null || wrong "after kill: $(cat "$scratch/fio.log")"
read -r again cycles unclean <"$scratch/out"
[ "$again" -ge $((written + 64 * 2048)) ] && [ "$unclean" = 1 ] || wrong "after kill: $again $cycles $unclean"
"$ssdlab" image check "$scratch/drive.ssd" >/dev/null
