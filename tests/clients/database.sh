# Power cuts of a database, a few of them: `test_database NAME CUTS` runs examples/attach/NAME-power-cuts.sh on a drive that
# keeps its promises, where nothing may be lost, and for CUTS cuts on one whose FLUSH lies, where losses must be found.
# `make databases` makes hundreds of cuts.
test_database() {
  requires nbdfuse losetup mkfs.ext4 fsck.ext4 python3 setsid /dev/fuse /dev/loop-control
  if [ "$(id -u)" != 0 ]; then echo "$1: left out, since mounting needs root"; exit 77; fi
  local examples
  examples=$(realpath "$(dirname "$0")/../../examples/attach")
  "$examples/$1-power-cuts.sh" "$ssdlab" m600-256gb "${CUTS:-5}" "${SEED:-1}" >"$scratch/out" 2>&1 ||
    { cat "$scratch/out" >&2; exit 1; }
  "$examples/$1-power-cuts.sh" --expect-losses "$ssdlab" "$examples/m600-256gb-lying-flush.toml" "$2" "${SEED:-1}" \
    >"$scratch/out" 2>&1 || { cat "$scratch/out" >&2; exit 1; }
}
