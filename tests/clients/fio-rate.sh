#!/usr/bin/env bash
# One fio job, through the server and by `ssdlab run`: rates within 10 % of each other. The drive's world is slowed down
# tenfold, so that the machine keeps up; a job for which it does not is run once more in a world three times as slow, for as
# long in that world.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires fio python3
scale=${SCALE:-10}
# Of the machine, for each job.
seconds=${SECONDS_OF_LOAD:-10}
rates_agree() {
  local job=$1 scale=$2 seconds=$3 rw bs depth
  read -r rw bs depth <<<"$job"
  # Of another job: they would be taken for this one's if it failed.
  rm -f "$scratch"/{run,nbd}.json
  printf '[j]\nioengine=libaio\nrw=%s\nbs=%s\niodepth=%s\nsize=256m\ntime_based=1\nruntime=%sms\n' "$rw" "$bs" "$depth" $((1000 * seconds / scale)) >"$scratch/job.fio"
  "$ssdlab" run "$scratch/job.fio" "$drive" --output-format json >"$scratch/run.json" 2>/dev/null
  export rw bs depth seconds scratch
  # What is read is laid out before, as fio and `ssdlab run` do.
  served 'if [ "$rw" = randread ]; then fio --ioengine=nbd --uri="$uri" --name=j --rw=write --bs=1m --size=256m >/dev/null; fi
    fio --ioengine=nbd --uri="$uri" --name=j --rw="$rw" --bs="$bs" --iodepth="$depth" --size=256m --time_based \
    --runtime="$seconds" --output-format=json --output="$scratch/nbd.json"' --time-scale "$scale" 2>"$scratch/late"
  python3 - "$scratch" "$job" "$scale" <<'PY'
import json, sys
folder, job, scale = sys.argv[1], sys.argv[2], float(sys.argv[3])
side = "read" if "read" in job else "write"
def of(name):
    text = open(f"{folder}/{name}.json").read()
    side_of = json.loads(text[text.index("{"):])["jobs"][0][side]
    return side_of["iops"], side_of["clat_ns"]["mean"]
(run, run_mean), (nbd, nbd_mean) = of("run"), of("nbd")
nbd, nbd_mean = nbd * scale, nbd_mean / scale
off = 100 * (nbd / run - 1)
print(f"{job}: {run:.0f} IOPS by run, {nbd:.0f} served ({off:+.1f} %); mean {run_mean / 1e3:.0f} us and {nbd_mean / 1e3:.0f} us")
sys.exit(abs(off) > 10)
PY
}
for job in "randwrite 4k 32" "randwrite 4k 8" "write 128k 8" "randread 4k 8"; do
  rates_agree "$job" "$scale" "$seconds" || rates_agree "$job" $((3 * scale)) $((3 * seconds))
done
