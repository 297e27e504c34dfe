#!/usr/bin/env bash
# A wheel on every Python of this machine from 3.10 on: installed into a new environment, and a test run.
# MINORS="12 13" runs those alone.
set -euo pipefail
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
seen=0
for minor in ${MINORS:-10 11 12 13 14 15}; do
  for python in "python3.$minor" "$HOME"/.pyenv/versions/3."$minor".*/bin/python; do
    "$python" -c "import sys; sys.exit(sys.version_info[:2] != (3, $minor))" 2>/dev/null || continue
    rm -rf "$folder/env"
    "$python" -m venv "$folder/env"
    "$folder/env/bin/pip" install -q --no-index "$wheel"
    "$folder/env/bin/python" - <<'EOF'
import ssdlab, sys
iops = ssdlab.Drive("ideal-32die").test("random-write", seconds=1, span_bytes="64MB").metrics["iops"]
print(sys.version.split()[0], iops)
EOF
    test "$("$folder/env/bin/ssdlab" --version)" = "ssdlab $("$folder/env/bin/python" -c 'import ssdlab; print(ssdlab.__version__)')"
    seen=$((seen + 1))
    break
  done
done
test "$seen" -gt 0 || { echo "no Python from 3.10 on was found" >&2; exit 1; }
