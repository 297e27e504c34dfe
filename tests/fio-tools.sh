#!/bin/sh
# The tools that read fio's output read ours: fio-plot (bars and lines over time), fio_jsonplus_clat2csv, fio2gnuplot.
# Pictures and tables stay in target/fio-tools, to be looked at.
set -eu
ssdlab=$(realpath "$1")
tools=$(realpath "$2")
drive=jmf667h-toshiba-128gb
folder=$(pwd)/target/fio-tools
rm -rf "$folder"
mkdir -p "$folder/results"
cd "$folder/results"

for depth in 1 4 16; do
    name=randread-iodepth-$depth-numjobs-1
    cat > job.fio <<JOB
[$name]
rw=randread
bs=4k
size=1g
norandommap
ioengine=libaio
iodepth=$depth
numjobs=1
time_based
runtime=3
log_avg_msec=100
write_bw_log=$name
write_iops_log=$name
write_lat_log=$name
JOB
    "$ssdlab" run job.fio "$drive" --output-format json+ --output "$name.json" 2>/dev/null
done
rm job.fio

"$tools/fio-plot" -i . -T "4 KiB random read" -l -r randread -d 1 4 16 -n 1 -o ../bars.png
"$tools/fio-plot" -i . -T "4 KiB random read" -g -r randread -t iops lat bw -d 1 4 16 -n 1 -o ../lines.png
cd ..
for picture in bars.png lines.png; do
    # A picture, and not an empty one.
    head -c 8 "$picture" | grep -q PNG
    test "$(wc -c < "$picture")" -gt 20000
done

fio_jsonplus_clat2csv results/randread-iodepth-16-numjobs-1.json latencies.csv
table=$(ls latencies*.csv | head -1)
head -1 "$table" | grep -q read_clat_ns_count
# The counts of the table are the commands of the report.
counted=$(awk -F', *' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "read_clat_ns_count") c = i; next } { n += $c } END { print n }' "$table")
total=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["jobs"][0]["read"]["total_ios"])' \
    results/randread-iodepth-16-numjobs-1.json)
test "$counted" = "$total"

mkdir gnuplot
cp results/*_bw.1.log gnuplot
cd gnuplot
fio2gnuplot -b -d . > ../fio2gnuplot.txt 2>&1
ls ./*.average >/dev/null
echo "the tools of fio read what ssdlab writes: $folder"
