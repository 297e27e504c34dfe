#!/usr/bin/env bash
# SQLite on ext4 on a simulated drive whose plug is pulled during a stream of transactions. After each cut the file system is
# checked, and every transaction that SQLite had acknowledged is looked for.
#
#   examples/attach/sqlite-power-cuts.sh [--expect-losses] [SSDLAB [DEVICE [CUTS [SEED]]]]
#
# One line a cut, and one at the end; exit code 1 if a committed transaction was lost. What it needs, and what can be set:
# power-cuts.sh beside it. JOURNAL_MODE and SYNCHRONOUS are SQLite's pragmas (wal, full).
set -euo pipefail
here=$(realpath "$(dirname "$0")")
. "$here/power-cuts.sh"

create() { python3 "$here/sqlite_rows.py" create "$mnt/test.db"; }
write_rows() { exec python3 "$here/sqlite_rows.py" write "$mnt/test.db" >>"$acknowledged"; }
end_writing() { :; }
read_rows() { python3 "$here/sqlite_rows.py" read "$mnt/test.db" >"$found"; }

power_cuts "$@"
