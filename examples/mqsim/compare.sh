#!/bin/sh
# compare.sh MQSIM [SSDLAB]: runs MQSim (commit 7ec40e3, built with its own Makefile) and ssdlab on the drive and the
# workloads of docs/mqsim.md, and prints the table. Takes some minutes; needs python3.
set -eu
[ $# -ge 1 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mqsim=$(command -v "$1" || true) ssdlab=$(command -v "${2:-ssdlab}" || true)
[ -n "$mqsim" ] && [ -n "$ssdlab" ] || { echo "no program $1, or no ${2:-ssdlab}" >&2; exit 2; }
mqsim=$(realpath "$mqsim") ssdlab=$(realpath "$ssdlab")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out"

# MQSim: a result file for each workload. It may crash after the last, on requests that it has lost.
cp "$here/workload.xml" .
"$mqsim" -i "$here/ssdconfig.xml" -w workload.xml < /dev/null > mqsim.log
sed 's/\(<Page_No_Per_Block>\)256/\164/' "$here/ssdconfig.xml" > small.xml
for times in 5 6; do
	sed "s/5505024/$((times * 917504))/" "$here/workload-steady.xml" > "steady-$times.xml"
	"$mqsim" -i small.xml -w "steady-$times.xml" < /dev/null > mqsim.log || [ -s "steady-${times}_scenario_1.xml" ]
done

# ssdlab: the drive with and without a write cache, and with blocks of 64 pages.
cp "$here/die.toml" "$here/sixteen-dies.toml" .
sed 's/^write_cache = true/write_cache = false/' sixteen-dies.toml > uncached.toml
sed 's/^pages_per_block = 256/pages_per_block = 64/' die.toml > small-die.toml
sed 's/"die.toml"/"small-die.toml"/; s/^capacity_bytes = .*/capacity_bytes = 3758096384/' sixteen-dies.toml > small.toml

# job NAME DRIVE PREFILL LINE...
job() {
	name=$1 drive=$2 prefill=$3
	shift 3
	printf '%s\n' '[global]' ioengine=libaio norandommap "$@" > "$name.fio"
	"$ssdlab" run "$name.fio" "$drive" --prefill "$prefill" --output-format json > "$name.json" 2> "$name.log" ||
		{ cat "$name.log" >&2; return 1; }
}

for depth in 1 4 16 32 64; do
	job "random-read-$depth" sixteen-dies.toml drive time_based runtime=5 bs=4k iodepth=$depth '[job]' rw=randread
done
for depth in 1 32; do
	job "sequential-read-$depth" sixteen-dies.toml drive time_based runtime=5 bs=128k iodepth=$depth '[job]' rw=read
done
for state in sixteen-dies uncached; do
	for depth in 1 32; do
		job "random-write-$state-$depth" $state.toml none time_based runtime=5 bs=4k iodepth=$depth '[job]' rw=randwrite
	done
	job "sequential-write-$state-32" $state.toml none time_based runtime=5 bs=128k iodepth=32 '[job]' rw=write
done
job mixed uncached.toml drive time_based runtime=5 bs=4k iodepth=32 '[job]' rw=randrw rwmixread=70
job mixed-open uncached.toml drive time_based runtime=5 bs=4k iodepth=64 rate_process=poisson \
	'[reads]' rw=randread rate_iops=21000 '[writes]' rw=randwrite rate_iops=9000
capacity=3758096384
for times in 5 6; do
	job "steady-$times" small.toml none bs=4k iodepth=32 rw=randwrite \
		'[fill]' io_size=$((capacity * (times - 1))) '[last]' stonewall io_size=$capacity
done

python3 "$here/table.py" "$out"
