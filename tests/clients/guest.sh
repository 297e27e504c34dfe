#!/usr/bin/env bash
# A Linux guest in QEMU has the drive by pass-through (scsi-block over iSCSI): its kernel finds /dev/sda, and sg3-utils, smartctl, dd
# and blkdiscard work there. Some 20 s without hardware virtualisation.
set -euo pipefail
. "$(dirname "$0")/common.sh"
requires sg_inq sg_vpd sg_readcap sg_opcodes smartctl
. "$(dirname "$0")/virtual-machine.sh"
cat >"$scratch/inside.sh" <<'IN'
check() { what=$1; shift; if "$@" >/tmp/out 2>&1; then echo "GUEST ok: $what"; else echo "GUEST FAILED: $what"; fi; cat /tmp/out; }
says() { what=$1; text=$2; shift 2; "$@" >/tmp/out 2>&1; if grep -q "$text" /tmp/out; then echo "GUEST ok: $what"; else echo "GUEST FAILED: $what"; fi; cat /tmp/out; }
check "disk" test -b /dev/sda
says "inquiry" "ATA" sg_inq /dev/sda
says "serial" "Unit serial number" sg_vpd -p sn /dev/sda
says "limits" "Maximum unmap LBA count" sg_vpd -p bl /dev/sda
says "provisioning" "(LBPU): 1" sg_vpd -p lbpv /dev/sda
says "capacity" "Logical block provisioning: lbpme=1" sg_readcap -l /dev/sda
says "commands" "Write same(16)" sg_opcodes /dev/sda
says "health" "self-assessment test result: PASSED" smartctl -a -d sat /dev/sda
says "attributes" "Total_LBAs_Written" smartctl -A -d sat /dev/sda
says "discard" "0" cat /sys/block/sda/queue/discard_zeroes_data
check "discard limits" test "$(cat /sys/block/sda/queue/discard_max_bytes)" -gt 0
check "write" dd if=/script of=/dev/sda bs=4k seek=256 conv=fsync
check "cache" grep -q "write back" /sys/class/scsi_disk/*/cache_type /sys/block/sda/queue/write_cache
echo 3 >/proc/sys/vm/drop_caches
dd if=/dev/sda bs=4k skip=256 count=1 of=/tmp/back 2>/dev/null
dd if=/script bs=4k count=1 of=/tmp/there 2>/dev/null
check "read" cmp -n $(wc -c </tmp/there) /tmp/back /tmp/there
check "blkdiscard" blkdiscard -o 1048576 -l 1048576 /dev/sda
echo 3 >/proc/sys/vm/drop_caches
check "discarded" sh -c 'dd if=/dev/sda bs=4k skip=256 count=1 2>/dev/null | cmp -n 4096 - /dev/zero'
check "file system" sh -c 'mke2fs /dev/sda 200000'
dmesg | grep -iE "sda|I/O error|sense" | tail -20
echo "GUEST ends"
IN
virtual_machine "$(cat "$scratch/inside.sh")" sg_inq sg_vpd sg_readcap sg_opcodes smartctl
guest none || { cat "$scratch/guest" >&2; exit 1; }
if ! grep -q "GUEST ends" "$scratch/guest" || grep -q "GUEST FAILED" "$scratch/guest"; then cat "$scratch/guest" >&2; exit 1; fi
[ "$(grep -c "GUEST ok" "$scratch/guest")" -ge 15 ]
