#!/usr/bin/env bash
# SQLite keeps what it has committed when the plug is pulled, and loses some of it on a drive that lies.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/database.sh"
# About every second cut of the lying drive costs a transaction.
test_database sqlite 12
