#!/usr/bin/env bash
# What the server can carry, beside an in-memory NBD server on the same machine, in turns: fails below 60 %. At its own speed the
# drive may be the limit, so it is served five times as fast as well. Then nine tenths of its own rate are asked for: of the 32
# requests some are on the socket (measured: 90 to 98 % of it).
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires fio nbdkit python3
drive=ideal-32die
seconds=${SECONDS_OF_LOAD:-5}
export seconds scratch
# What is read is written before, to either server: a read of what nobody has written asks no die and copies no page.
job='if [ "$rw" = randread ]; then fio --ioengine=nbd --uri="$uri" --name=j --rw=write --bs=1m --size=1g >/dev/null; fi
  fio --ioengine=nbd --uri="$uri" --name=j --rw=$rw --bs=4k --iodepth=32 --size=1g --time_based --runtime=$seconds --output-format=json --output=$scratch/$name.json'
for rw in randread randwrite; do
  export rw
  for round in 1 2 3; do
    name=memory-$round
    export name
    rm -f "$scratch/memory.sock"
    nbdkit -U "$scratch/memory.sock" memory 2G --run "$job"
    name=ssdlab-$round
    served "$job" 2>/dev/null
    name=fast-$round
    served "$job" --time-scale 0.2 2>/dev/null
  done
  printf '[j]\nioengine=libaio\nrw=%s\nbs=4k\niodepth=32\nsize=1g\ntime_based\nruntime=%s\n' "$rw" "$seconds" >"$scratch/$rw.fio"
  "$ssdlab" run "$scratch/$rw.fio" "$drive" --output-format json --output "$scratch/drive.json" --force 2>/dev/null
  python3 - "$scratch" "$rw" <<'PY'
import json, sys
folder, rw = sys.argv[1:]
def of(name):
    rates = sorted(json.load(open(f"{folder}/{name}-{k}.json"))["jobs"][0][rw[4:]]["iops"] for k in (1, 2, 3))
    return rates[1]
memory, ours, fast = of("memory"), of("ssdlab"), of("fast")
drive = json.load(open(f"{folder}/drive.json"))["jobs"][0][rw[4:]]["iops"]
print(
    f"{rw} 4k at QD32: {ours:.0f} IOPS served, {memory:.0f} by nbdkit's memory plugin ({100 * ours / memory:.0f} %), "
    f"{drive:.0f} by the drive in simulated time; {fast:.0f} ({100 * fast / memory:.0f} %) with the drive five times as fast"
)
sys.exit(fast < 0.6 * memory or ours < min(0.6 * memory, 0.9 * drive))
PY
done
