# A database on ext4 on a simulated drive whose plug is pulled, again and again. sqlite-power-cuts.sh and
# postgresql-power-cuts.sh are what to start from for another database: they source this file, define four functions, and
# call `power_cuts "$@"`:
#
#   create       makes an empty database on the file system that is mounted at $mnt
#   write_rows   commits until the drive fails; appends the number of each row to $acknowledged once the database has said
#                that it is committed. Runs in the background
#   end_writing  ends every process that still uses $mnt
#   read_rows    opens the database, and so lets it recover; writes the numbers of all sound rows to $found. Fails, with the
#                reason on the first line of stderr, if the database is damaged
#
# and set `needs` to the programs that these take: one that is missing would look like a database that is damaged.
#
# Arguments: [--expect-losses] [SSDLAB [DEVICE [CUTS [SEED]]]]. The seed decides how long after the first transaction each
# pull comes; what the programs are at by then is the machine's affair, so that two runs differ.
#
# From the environment: SIZE of the file system (1GiB; of the drive's first addresses), MOMENT_MS, within which after the first
# transaction the plug is pulled (1500), ATTACH with more options of `ssdlab attach`, such as "--prefill drive". With AGAIN_MS it is
# pulled once more after each cut, within so many milliseconds after the drive is ready, while file system and database recover.
#
# Needs root (loop devices, mounts) and Debian's packages nbdfuse, e2fsprogs and python3. Exit code: 0 if no committed
# transaction was lost, 1 if one was, 2 if something else went wrong; with --expect-losses 1 if none was.
set -euo pipefail

# The server is not started with --run, which would end this script upon Ctrl-C before it has let go of its loop device.
start_drive() {
  setsid "$ssdlab" attach "$device" ${ATTACH:-} --socket "$scratch/drive.socket" >"$scratch/attach" 2>&1 &
  server=$!
  until [ -S "$scratch/drive.socket" ]; do
    kill -0 "$server" 2>/dev/null || { cat "$scratch/attach" >&2; exit 2; }
    sleep 0.05
  done
}

# Makes the drive a block device: nbdfuse makes it a file, loop makes that a device. Sets $block.
plug_in() {
  # nbdfuse complains, and aborts, when the drive goes.
  (setsid nbdfuse "$scratch/fuse" "nbd+unix:///?socket=$scratch/drive.socket" || true) 2>/dev/null &
  fuse=$!
  until [ -e "$scratch/fuse/nbd" ]; do
    kill -0 "$fuse" 2>/dev/null || { echo "nbdfuse did not start" >&2; exit 2; }
    sleep 0.02
  done
  block=$(losetup --direct-io=on --sizelimit "$size" -f --show "$scratch/fuse/nbd")
}

# Whether the loop device is still ours: another program may have taken the number since.
attached() { [ -n "$block" ] && grep -qsF "$scratch/fuse/nbd" "/sys/block/${block#/dev/}/loop/backing_file"; }

mounted() { grep -q " $1 " /proc/self/mounts; }

# Takes all of it away again. A process that is about to end, or udev, may still hold a part: it is tried for some seconds.
plug_out() {
  for _ in $(seq 200); do
    if mounted "$mnt" && ! umount "$mnt" 2>/dev/null; then
      :
    elif attached; then
      losetup -d "$block" 2>/dev/null || true
    elif mounted "$scratch/fuse" && ! umount "$scratch/fuse" 2>/dev/null; then
      :
    else
      [ -z "$fuse" ] || wait "$fuse" 2>/dev/null || true
      block='' fuse=''
      return
    fi
    sleep 0.02
  done
  echo "$mnt cannot be unmounted, or $block not detached" >&2
  return 2
}

clean_up() {
  trap '' INT TERM
  if [ -n "$writer" ]; then kill -9 "$writer" 2>/dev/null && wait "$writer" 2>/dev/null || true; fi
  if [ -n "$cutter" ]; then kill "$cutter" 2>/dev/null && wait "$cutter" 2>/dev/null || true; fi
  end_writing 2>/dev/null || true
  if ! plug_out 2>/dev/null; then
    # nbdfuse ends with its mount.
    umount -l "$mnt" "$scratch/fuse" 2>/dev/null || true
    if attached; then losetup -d "$block" || true; fi
  fi
  if [ -n "$server" ]; then kill "$server" 2>/dev/null && wait "$server" 2>/dev/null || true; fi
  rm -rf --one-file-system "$scratch"
  exit "$verdict"
}

# What `ctl restore` said, whole.
restored() { sed -n "s/^$1 *\([0-9]*\).*/\1/p" "$scratch/restored"; }

make_fresh() {
  mkfs.ext4 -q -F "$block"
  mount "$block" "$mnt"
  create
  : >"$acknowledged"
}

# Pulls the plug again $1 ms from now, while the file system and the database recover. Sets $interrupted.
cut_recovery() {
  (sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" && "$ssdlab" ctl "$scratch/drive.socket" cut) >/dev/null &
  cutter=$!
  interrupted=1
  fsck.ext4 -p "$block" >/dev/null 2>&1 || true
  # What was done by then was not interrupted.
  if mount "$block" "$mnt" 2>/dev/null && read_rows 2>/dev/null && kill -0 "$cutter" 2>/dev/null; then interrupted=0; fi
  wait "$cutter"
  cutter=''
  end_writing
  plug_out
}

# Restores the power; adds up what came back.
restore() {
  "$ssdlab" ctl "$scratch/drive.socket" restore >"$scratch/restored"
  ready=$(restored ready_after_restore_ms)
  ready_ms+=("$ready")
  reverted=$((reverted + $(restored pages_after_last_cut.reverted)))
  unreadable=$((unreadable + $(restored pages_after_last_cut.unreadable) + $(restored pages_after_last_cut.forgotten)))
}

# Checks the file system and the database after a cut. Sets $ext4, $damage and $lost.
look() {
  local code=0
  damage='' ext4=clean
  : >"$found"
  fsck.ext4 -p "$block" >"$scratch/fsck" 2>&1 || code=$?
  if [ "$code" -ge 4 ]; then
    ext4="damaged, repaired by force" damage="the file system was damaged: fsck could not repair it unasked"
    sed -n 's/^./  fsck: &/p' "$scratch/fsck"
    fsck.ext4 -f -y "$block" >"$scratch/fsck" 2>&1 || true
  elif [ "$code" -gt 0 ]; then
    ext4=repaired
  elif grep -q "recovering journal" "$scratch/fsck"; then
    ext4="recovered"
  fi
  if ! mount "$block" "$mnt" 2>"$scratch/why"; then
    damage="the file system cannot be mounted: $(head -n 1 "$scratch/why")"
  elif ! read_rows 2>"$scratch/why"; then
    damage="the database is damaged: $(head -n 1 "$scratch/why")"
  fi
  lost=$(comm -23 <(sort "$acknowledged") <(sort "$found") | wc -l)
}

power_cuts() {
  local expect_losses=0
  if [ "${1:-}" = --expect-losses ]; then expect_losses=1 && shift; fi
  local program=${1:-target/release/ssdlab}
  ssdlab=$(command -v "$program") || { echo "there is no $program" >&2; exit 2; }
  ssdlab=$(realpath "$ssdlab")
  device=${2:-m600-256gb}
  local cuts=${3:-10} seed=${4:-1} missing
  size=${SIZE:-1GiB}
  for missing in ${needs:-} nbdfuse losetup mkfs.ext4 fsck.ext4 python3 setsid; do
    command -v "$missing" >/dev/null || { echo "there is no $missing" >&2; exit 2; }
  done
  if [ "$(id -u)" != 0 ]; then echo "mounting needs root" >&2 && exit 2; fi

  scratch=$(mktemp -d)
  mnt=$scratch/mnt acknowledged=$scratch/acknowledged found=$scratch/found
  server='' fuse='' block='' writer='' cutter=''
  mkdir "$scratch/fuse" "$mnt"
  # Databases do not run as root, and come through here.
  chmod 755 "$scratch"
  verdict=2
  trap clean_up EXIT
  trap 'verdict=130 && exit' INT
  trap 'verdict=143 && exit' TERM

  start_drive
  plug_in
  make_fresh
  local cut=0 moment all=0 all_lost=0 damaged=0 reverted unreadable all_reverted=0 all_unreadable=0 before said ready
  local interrupted=0 all_interrupted=0 again=''
  local -a ready_ms=() agains=()
  draw() { python3 -c "
import random
draw = random.Random($1)
print(*(draw.randrange($2) for _ in range($cuts)))"; }
  [ -z "${AGAIN_MS:-}" ] || read -ra agains < <(draw "$((seed + 1))" "$AGAIN_MS")
  for moment in $(draw "$seed" "${MOMENT_MS:-1500}"); do
    cut=$((cut + 1))
    before=$(wc -l <"$acknowledged")
    write_rows 2>/dev/null &
    writer=$!
    until [ "$(wc -l <"$acknowledged")" -gt "$before" ]; do
      kill -0 "$writer" 2>/dev/null || { echo "cut $cut: nothing is written" >&2; exit 2; }
      sleep 0.01
    done
    sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
    "$ssdlab" ctl "$scratch/drive.socket" cut >/dev/null
    for _ in $(seq 100); do kill -0 "$writer" 2>/dev/null && sleep 0.05 || break; done
    kill -9 "$writer" 2>/dev/null || true
    wait "$writer" 2>/dev/null || true
    writer=
    end_writing
    plug_out
    reverted=0 unreadable=0
    restore
    if [ -n "${AGAIN_MS:-}" ]; then
      plug_in
      cut_recovery "${agains[cut - 1]}"
      restore
      all_interrupted=$((all_interrupted + interrupted))
    fi
    all_reverted=$((all_reverted + reverted)) all_unreadable=$((all_unreadable + unreadable))

    plug_in
    look
    said="$(($(wc -l <"$acknowledged") - before)) transactions acknowledged"
    all=$((all + $(wc -l <"$acknowledged") - before))
    all_lost=$((all_lost + lost))
    if [ "$lost" -gt 0 ] || [ -n "$damage" ]; then
      said="$said, $lost of the $(wc -l <"$acknowledged") committed so far LOST"
      [ -z "$damage" ] || said="$said, $damage"
      damaged=$((damaged + 1))
    else
      said="$said, none lost"
    fi
    echo "cut $cut: $said; ext4 $ext4; drive ready after $ready ms, $reverted pages reverted, $unreadable unreadable"
    if [ "$lost" -gt 0 ] || [ -n "$damage" ]; then
      # The next cut is counted by itself.
      end_writing
      plug_out
      plug_in
      make_fresh
    fi
  done
  [ -z "${AGAIN_MS:-}" ] || again="; pulled again each time, in $all_interrupted of them before the database had recovered"
  readarray -t ready_ms < <(printf '%s\n' "${ready_ms[@]}" | sort -n)
  echo "$cut cuts of $device, seed $seed: $all transactions acknowledged, $all_lost lost in $damaged cuts$again;" \
    "drive ready after ${ready_ms[0]} to ${ready_ms[-1]} ms; $all_reverted pages reverted, $all_unreadable unreadable;" \
    "$("$ssdlab" ctl "$scratch/drive.socket" status | sed -n 's/^requests.flush.requests *//p') FLUSH requests"
  verdict=$((damaged > 0 != expect_losses))
  # Cuts that met nothing that could be lost, or no recovery, show nothing.
  if [ "$all" -eq 0 ] || { [ -n "${AGAIN_MS:-}" ] && [ "$all_interrupted" -eq 0 ]; }; then
    echo "nothing was shown: no transaction was acknowledged, or no recovery was interrupted" >&2
    verdict=2
  fi
}
