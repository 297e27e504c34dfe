# A Linux guest whose only disk is a served drive, by iSCSI and SCSI pass-through: `. virtual-machine.sh` after common.sh. Debian's
# cloud kernel, from /boot or from its package, and an initramfs of busybox. Without hardware virtualisation a start takes 5 s.
requires qemu-system-x86_64 busybox cpio depmod
[ -n "$(find /usr/lib/*/qemu -name 'block-iscsi.so' 2>/dev/null)" ] || { echo "$(basename "$0" .sh): left out, since QEMU has no iSCSI (qemu-block-extra)"; exit 77; }

# virtual_machine SCRIPT PROGRAM…: an initramfs in $scratch that runs a script of the shell, with programs beside busybox's. The
# script finds the drive as /dev/sda, and words of `guest` in $1, $2, …
virtual_machine() {
  local script=$1 root=$scratch/root kernel modules
  shift
  kernel=$(find /boot -name 'vmlinuz-*-cloud-amd64' 2>/dev/null | sort | tail -1)
  if [ -n "$kernel" ]; then
    modules=/lib/modules/${kernel#/boot/vmlinuz-}
  else
    local package
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: //p' | head -1)
    (cd "$scratch" && apt-get download -qq "$package" 2>/dev/null && dpkg -x linux-image-*.deb kernel) ||
      { echo "$(basename "$0" .sh): left out, since there is no kernel for a guest (linux-image-cloud-amd64)"; exit 77; }
    kernel=$(find "$scratch/kernel/boot" -name 'vmlinuz-*')
    modules=$scratch/kernel/lib/modules/${kernel##*/vmlinuz-}
  fi
  mkdir -p "$root/bin" "$root/lib" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/mnt"
  local release=${modules##*/} to
  to=$root/lib/modules/$release/kernel
  mkdir -p "$to/drivers"
  cp -r "$modules/kernel/lib" "$modules/kernel/block" "$modules/kernel/crypto" "$modules/kernel/arch" "$to/"
  cp -r "$modules/kernel/drivers/scsi" "$modules/kernel/drivers/virtio" "$modules/kernel/drivers/block" "$to/drivers/"
  cp "$modules"/modules.order "$modules"/modules.builtin* "$root/lib/modules/$release/"
  depmod -b "$root" "$release"
  cp "$(command -v busybox)" "$root/bin/"
  local program library
  for program in "$@"; do
    cp "$(command -v "$program")" "$root/bin/"
    # Of a program that is not static, its libraries.
    ldd "$(command -v "$program")" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
      mkdir -p "$root$(dirname "$library")" && cp -Ln "$library" "$root$library"
    done || true
  done
  cat >"$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in virtio_pci virtio_scsi sd_mod sg; do modprobe $module; done
while ! [ -b /dev/sda ]; do sleep 0.1; done
sh /script $(sed 's/.*words=//' /proc/cmdline | tr , ' ') >/dev/ttyS0 2>&1
poweroff -f
INIT
  chmod +x "$root/init"
  printf '%s\n' "$script" >"$root/script"
  (cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$scratch/initrd"
  cp "$kernel" "$scratch/kernel-image"
}

# guest WORDS ARGUMENTS…: runs it once, on a drive that is attached with these arguments; WORDS with commas between them, of which
# PSID stands for what the drive's label says. What the script prints goes to $scratch/guest.
guest() {
  local words=$1
  shift
  export scratch words ssdlab
  # shellcheck disable=SC2016
  served 'psid=$("$ssdlab" ctl "$control" status --json | sed -n "s/.*\"psid\": *\"\([^\"]*\).*/\1/p")
    words=$(echo "$words" | sed "s/PSID/$psid/")
    qemu-system-x86_64 -accel tcg -m 512 -nographic -no-reboot -kernel "$scratch/kernel-image" -initrd "$scratch/initrd" \
    -append "console=ttyS0 quiet panic=-1 libata.allow_tpm=1 words=$words" -device virtio-scsi-pci \
    -drive "file=$iscsi,if=none,id=drive,format=raw,cache=none" -device scsi-block,drive=drive </dev/null' \
    --iscsi 127.0.0.1:0 "$@" 2>&1 | tr -d '\r' >"$scratch/guest"
}

# told TEXT: the guest has said this line.
told() {
  grep -qxF -- "$1" "$scratch/guest" || { echo "not said: $1" >&2; cat "$scratch/guest" >&2; exit 1; }
}
