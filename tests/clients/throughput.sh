#!/usr/bin/env bash
# What the server can carry, beside an in-memory NBD server on the same machine, in turns. A measurement: nothing fails
# unless less than 60 % is reached.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires fio nbdkit python3
drive=ideal-32die
seconds=${SECONDS_OF_LOAD:-5}
export seconds scratch
job='fio --ioengine=nbd --uri="$uri" --name=j --rw=$rw --bs=4k --iodepth=32 --size=1g --time_based --runtime=$seconds --output-format=json --output=$scratch/$name.json'
for rw in randread randwrite; do
  export rw
  for round in 1 2 3; do
    name=memory-$round
    export name
    rm -f "$scratch/memory.sock"
    nbdkit -U "$scratch/memory.sock" memory 2G --run "$job"
    name=ssdlab-$round
    served "$job" 2>/dev/null
  done
  python3 - "$scratch" "$rw" <<'PY'
import json, sys
folder, rw = sys.argv[1:]
def of(name):
    rates = sorted(json.load(open(f"{folder}/{name}-{k}.json"))["jobs"][0][rw[4:]]["iops"] for k in (1, 2, 3))
    return rates[1]
memory, ours = of("memory"), of("ssdlab")
print(f"{rw} 4k at QD32: {ours:.0f} IOPS served, {memory:.0f} by nbdkit's memory plugin ({100 * ours / memory:.0f} %)")
sys.exit(ours < 0.6 * memory)
PY
done
