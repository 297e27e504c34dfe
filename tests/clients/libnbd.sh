#!/usr/bin/env bash
# libnbd for Python: negotiation step by step, errors, asynchronous requests, block status.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python=$(command -v python3.11 || command -v python3)
PYTHONPATH=$(echo /usr/lib/python3*/dist-packages | tr ' ' ':')
export PYTHONPATH python
if ! "$python" -c 'import nbd; nbd.NBD().connect_uri' 2>/dev/null; then echo "libnbd: left out, since there is no libnbd for Python"; exit 77; fi
client=$(realpath "$(dirname "$0")/libnbd.py")
export client
served '"$python" "$client" "$uri"' 2>"$scratch/err" || { cat "$scratch/err" >&2; exit 1; }
