# A file system on a loop device over nbdfuse: a real tree is copied in, some of it removed and trimmed; after unmount, check
# and another attach of the image everything is there. $make and $check are commands that take the block device.

test_file_system() {
  requires nbdfuse losetup fstrim /dev/fuse /dev/loop-control
  if [ "$(id -u)" != 0 ]; then echo "$(basename "$0" .sh): left out, since mounting needs root"; exit 77; fi
  cat >"$scratch/first.sh" <<'IN'
set -euo pipefail
. "$here/block-device.sh"
as_block_device "$uri" "$scratch"
$make "$block"
mount -o discard "$block" "$scratch/mnt"
cp -r /usr/share/perl /usr/share/doc/bash "$scratch/mnt"
rm -r "$scratch/mnt/bash"
fstrim "$scratch/mnt"
umount "$scratch/mnt"
$check "$block"
no_block_device
IN
  cat >"$scratch/second.sh" <<'IN'
set -euo pipefail
. "$here/block-device.sh"
as_block_device "$uri" "$scratch"
$check "$block"
mount -o ro "$block" "$scratch/mnt"
diff -r /usr/share/perl "$scratch/mnt/perl"
[ ! -e "$scratch/mnt/bash" ]
umount "$scratch/mnt"
no_block_device
IN
  here=$(realpath "$(dirname "$0")")
  export here scratch make check
  for part in first second; do
    served "bash $scratch/$part.sh" --image "$scratch/drive.ssd" >"$scratch/out" 2>&1 || { cat "$scratch/out" >&2; exit 1; }
  done
  "$ssdlab" image check "$scratch/drive.ssd" >/dev/null
}
