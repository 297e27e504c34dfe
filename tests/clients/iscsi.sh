#!/usr/bin/env bash
# iSCSI: libiscsi's tools, qemu-io's patterns, qemu-img convert and compare; then libiscsi's conformance tests, one suite at a
# time (a suite of them that is left out leaves the next with altered commands), but for those that ask for what no standard
# does: an UNMAP of less than 4 KiB that reads as zeroes at once, and a connection that goes on after data with a wrong number.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires iscsi-inq iscsi-ls iscsi-readcapacity16 iscsi-test-cu qemu-io qemu-img
if ! (qemu-io -f raw iscsi:// -c quit 2>&1 || true) | grep -q "parse URL"; then
  echo "iscsi: left out, since qemu has no iSCSI"
  exit 77
fi
export scratch
cat >"$scratch/inside.sh" <<'IN'
set -euo pipefail
portal=${iscsi#iscsi://}
portal=${portal%%/*}
iscsi-ls -s "iscsi://$portal" | grep -q "Lun:0 .*DIRECT_ACCESS"
iscsi-inq "$iscsi" | grep -q "Vendor:ATA"
iscsi-readcapacity16 "$iscsi" | grep -q "Total size:128035676160"
qemu-io -f raw "$iscsi" \
  -c "write -P 0xab 0 1M" -c "read -P 0xab 0 1M" \
  -c "write -f -P 0xcd 512 4096" -c "read -P 0xab 0 512" -c "read -P 0xcd 512 4096" -c "read -P 0xab 4608 512" \
  -c "discard 0 512k" -c "read -P 0 0 512k" \
  -c "write -z 1M 64k" -c "write -z -u 2M 64k" -c "read -P 0 1M 64k" -c "write -P 3 16M 30M" -c "read -P 3 16M 30M" -c flush
# The same bytes over NBD.
qemu-io -f raw "$uri" -c "read -P 3 16M 30M"
IN
served "bash $scratch/inside.sh" --iscsi 127.0.0.1:0 >"$scratch/out" 2>&1 || { cat "$scratch/out" >&2; exit 1; }
if grep -qiE "fail|error" "$scratch/out"; then cat "$scratch/out" >&2; exit 1; fi
cat >"$scratch/suites.sh" <<'IN'
set -uo pipefail
known="GetLBAStatus.UnmapSingle Unmap.Simple iSCSIdatasn.iSCSIDataSnInvalid"
iscsi-test-cu --list | sed -n 's/^\(SCSI\|iSCSI\)\.\([A-Za-z0-9]*\)$/\1.\2/p' >"$scratch/suites"
# libiscsi 1.19 has some fifty.
if [ "$(wc -l <"$scratch/suites")" -lt 40 ]; then
  echo "iscsi-test-cu lists $(wc -l <"$scratch/suites") suites; 40 at least are needed" >&2
  exit 1
fi
while read -r suite; do
  timeout 120 iscsi-test-cu --dataloss -t "$suite" "$iscsi" >"$scratch/suite" 2>&1 </dev/null
  awk '/^Suite:/ { s = $2 } /  Test:/ { t = $2 } /^    [0-9]+\. / { print s "." t }' "$scratch/suite" | sort -u
  grep -q "Elapsed time" "$scratch/suite" || echo "$suite does not end"
done <"$scratch/suites" >"$scratch/failed"
for name in $known; do sed -i "/^$name\$/d" "$scratch/failed"; done
if [ -s "$scratch/failed" ]; then cat "$scratch/failed" >&2; exit 1; fi
IN
served "bash $scratch/suites.sh" --iscsi 127.0.0.1:0 2>"$scratch/err" || { cat "$scratch/err" >&2; exit 1; }
drive=ideal-32die
size=$("$ssdlab" show ideal-32die --json | grep -o '"capacity_bytes": *[0-9]*' | head -1 | grep -o '[0-9]*$')
head -c 50000000 /dev/urandom >"$scratch/raw"
truncate -s "$size" "$scratch/raw"
served 'qemu-img convert -n --target-is-zero -f raw -O raw "$scratch/raw" "$iscsi" && qemu-img compare -f raw -F raw "$scratch/raw" "$iscsi"' \
  --iscsi 127.0.0.1:0 2>/dev/null | grep -q "Images are identical"
