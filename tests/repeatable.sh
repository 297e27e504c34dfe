#!/usr/bin/env bash
# Same input and seed: the same bytes, run after run and at any number of threads.
set -euo pipefail
ssdlab=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
for run in first-1 second-2; do
  "$ssdlab" review jmf667h-imft-128gb memorycorp-sf4-64gb --quick --threads "${run#*-}" --out "$run" \
    --only consistency random-write hdtach --set seconds=60 >/dev/null 2>&1
done
test -s first-1/results.json && test -d first-1/series
diff -r first-1 second-2
echo "repeatable: results, page, pictures and every series are the same bytes in two runs, of one and of two threads"
