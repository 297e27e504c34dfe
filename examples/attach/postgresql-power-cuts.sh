#!/usr/bin/env bash
# PostgreSQL on ext4 on a simulated drive whose plug is pulled during a stream of transactions. After each cut the file system
# is checked, PostgreSQL recovers, pg_amcheck looks through tables and indexes, and every transaction that a client was told
# to be committed is looked for.
#
#   examples/attach/postgresql-power-cuts.sh [--expect-losses] [SSDLAB [DEVICE [CUTS [SEED]]]]
#
# One line a cut, and one at the end; exit code 1 if a committed transaction was lost. What it needs beside PostgreSQL, and what
# can be set: power-cuts.sh beside it. PostgreSQL 14 is the first with pg_amcheck. The server runs as the user postgres, or
# nobody if there is none.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
. "$here/power-cuts.sh"

needs='initdb postgres psql pg_isready pg_amcheck setpriv pgrep'
PATH=$PATH:$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
user=postgres
id "$user" >/dev/null 2>&1 || user=nobody
export PGUSER=postgres PGDATABASE=postgres
as_user=(--reuid "$user" --regid "$(id -g "$user")" --clear-groups)
postmaster=''

# Four clients, each with its counter: a transaction adds a row and counts it.
clients=4

start_postgresql() {
  export PGHOST=$scratch/run
  # A checkpoint every half a minute, so that some cuts hit one.
  (cd / && exec setpriv "${as_user[@]}" postgres -D "$mnt/data" -c listen_addresses= -c unix_socket_directories="$PGHOST" -c checkpoint_timeout=30s) \
    >"$scratch/postgres.log" 2>&1 &
  postmaster=$!
  until pg_isready -q; do
    kill -0 "$postmaster" 2>/dev/null || { grep -E "PANIC|FATAL" "$scratch/postgres.log" | head -n 1 >&2; return 1; }
    sleep 0.05
  done
}

create() {
  mkdir -p "$mnt/data" "$scratch/run"
  chown "$user" "$mnt/data" "$scratch/run"
  (cd / && setpriv "${as_user[@]}" initdb -D "$mnt/data" -U "$PGUSER" -A trust --data-checksums) >/dev/null
  start_postgresql
  psql -qX -v ON_ERROR_STOP=1 <<SQL
    create extension amcheck;
    create table t (number bigserial primary key, client integer, text text);
    create table counters (client integer primary key, n bigint);
    insert into counters select client, 0 from generate_series(1, $clients) client;
SQL
}

# psql prints a number when the server has answered that the transaction is committed.
write_rows() {
  local client
  for client in $(seq "$clients"); do
    yes "with row as (insert into t (client, text) values ($client, repeat('client $client ', 20)) returning number),
      count as (update counters set n = n + 1 where client = $client) select number from row;" |
      psql -qAtX -v ON_ERROR_STOP=1 >>"$acknowledged" &
  done
  wait
}

end_writing() {
  [ -n "$postmaster" ] || return 0
  local processes
  processes="$postmaster $(pgrep -P "$postmaster" || true)"
  kill -QUIT "$postmaster" 2>/dev/null || true
  for _ in $(seq 100); do kill -0 "$postmaster" 2>/dev/null && sleep 0.05 || break; done
  kill -9 $processes 2>/dev/null || true
  wait "$postmaster" 2>/dev/null || true
  postmaster=''
}

read_rows() {
  start_postgresql || return 1
  psql -qAtX -v ON_ERROR_STOP=1 -c "select number from t where text = repeat('client ' || client || ' ', 20)" >"$found" || return 1
  local miscounted
  miscounted=$(psql -qAtX -v ON_ERROR_STOP=1 -c "select count(*) from counters where n <> (select count(*) from t where t.client = counters.client)") || return 1
  if [ "$miscounted" != 0 ]; then echo "$miscounted counters are not what their clients' rows say" >&2 && return 1; fi
  pg_amcheck --heapallindexed 1>&2
}

power_cuts "$@"
