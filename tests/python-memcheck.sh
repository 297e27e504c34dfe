#!/usr/bin/env bash
# The tests of misuse under valgrind's memcheck, processes that they start included: fails with a test, with an access to
# memory that is not the extension's to touch, and with anything else that is wrong in it. What the interpreter does by
# itself with values that memcheck takes for uninitialised is left out. A minute of processor time, five of waiting.
set -euo pipefail
python=$(realpath -s "$1")
cd "$(dirname "$0")/../python/tests"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
PYTHONMALLOC=malloc valgrind --quiet --trace-children=yes --num-callers=40 --error-limit=no --leak-check=full \
  --show-leak-kinds=all --log-file="$logs/%p" \
  "$python" -m pytest -q -p no:cacheprovider -m "not slow" test_misuse.py
"$python" - "$logs" <<'EOF'
import pathlib, re, sys

ours = "_native.abi3.so"
left, wrong = 0, []
for log in pathlib.Path(sys.argv[1]).iterdir():
    for block in re.split(r"^==\d+== \n", log.read_text(errors="replace"), flags=re.M):
        if "in loss record" in block:
            left += ours in block
        elif re.search(r"^==\d+==    (at|by) 0x", block, re.M):
            # The dynamic linker compares strings eight bytes at a time.
            access = re.search(r"== (Invalid|Mismatched|Source and destination|Jump to)", block) and "(dl-load.c:" not in block
            if ours in block or access:
                wrong.append(block)
print("\n".join(wrong))
if not left:
    sys.exit(f"memcheck saw nothing of {ours}: is it the extension that was tested?")
sys.exit(f"{len(wrong)} errors" if wrong else 0)
EOF
