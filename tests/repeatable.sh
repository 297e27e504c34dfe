#!/usr/bin/env bash
# Same input and seed: the same bytes, run after run and at any number of threads.
set -euo pipefail
ssdlab=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
review() {
  "$ssdlab" review "$1" --quick --threads "${run#*-}" --out "$run/$1" --only "$2" --set seconds=60 >/dev/null 2>&1
}
for run in first-1 second-2; do
  mkdir "$run"
  review jmf667h-imft-128gb consistency,random-write,hdtach
  review memorycorp-sf4-64gb random-write,hdtach
done
for drive in jmf667h-imft-128gb memorycorp-sf4-64gb; do
  test -s "first-1/$drive/results.json" && test -d "first-1/$drive/series"
done
diff -r first-1 second-2
echo "repeatable: results, page, pictures and every series are the same bytes in two runs, of one and of two threads"
