# What the scripts in this folder share: `. common.sh` after `set -euo pipefail`, with the program as first argument.
ssdlab=$(realpath "${1:?usage: $0 SSDLAB}")
drive=${DRIVE:-jmf667h-toshiba-128gb}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Leaves a script out, with its reason, if a program or file is missing.
requires() {
  local missing
  for missing in "$@"; do
    if ! command -v "$missing" >/dev/null && ! [ -e "$missing" ]; then
      echo "$(basename "$0" .sh): left out, since there is no $missing"
      exit 77
    fi
  done
}

# Runs a line with $uri, $unixsocket and $control set, against a fresh drive; further arguments go to attach. It runs in the
# scratch folder: fio leaves files where it runs.
served() {
  local line=$1
  shift
  (cd "$scratch" && timeout "${TIMEOUT:-600}" "$ssdlab" attach "$drive" "$@" --run "$line")
}
