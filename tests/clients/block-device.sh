# A served drive as a block device of the machine: nbdfuse makes it a file, loop makes that a block device. Root only.

# as_block_device URI FOLDER: sets $block. What is mounted at FOLDER/mnt is unmounted with it, when the shell ends at the latest.
as_block_device() {
  fuse_folder=$2/fuse mounted_at=$2/mnt
  mkdir -p "$fuse_folder" "$mounted_at"
  trap no_block_device EXIT
  nbdfuse "$fuse_folder" "$1" &
  fuse_process=$!
  for _ in $(seq 200); do
    [ -e "$fuse_folder/nbd" ] && break
    sleep 0.05
  done
  block=$(losetup --direct-io=on -f --show "$fuse_folder/nbd")
}

no_block_device() {
  trap - EXIT
  if mountpoint -q "$mounted_at"; then umount "$mounted_at"; fi
  [ -z "${block:-}" ] || losetup -d "$block"
  # Whoever looked at the file last may not have let go yet.
  for _ in $(seq 100); do
    umount "$fuse_folder" 2>/dev/null && break
    sleep 0.05
  done
  wait "$fuse_process" || true
}
