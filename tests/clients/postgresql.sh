#!/usr/bin/env bash
# PostgreSQL keeps what it has committed when the plug is pulled, and loses some of it on a drive that lies.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/database.sh"
PATH=$PATH:$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
requires initdb postgres psql pg_amcheck
# Nearly every cut of the lying drive costs transactions.
test_database postgresql 4
