"""Commits one row a transaction until the drive fails, and writes down each number that SQLite has acknowledged.

sqlite_writer.py DATABASE ACKNOWLEDGED           write
sqlite_writer.py --check DATABASE ACKNOWLEDGED   look for every acknowledged row; exit code 1 if one is lost
"""
import sqlite3
import sys

check = sys.argv[1] == "--check"
database, acknowledged = sys.argv[-2:]
connection = sqlite3.connect(database, isolation_level=None)
connection.execute("pragma journal_mode = wal")
# FULL: in WAL mode, a commit is flushed to the drive before it returns.
connection.execute("pragma synchronous = full")

if check:
    assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    promised = {int(line) for line in open(acknowledged)}
    there = {row[0] for row in connection.execute("select number from t")} if promised else set()
    wrong = connection.execute("select count(*) from t where text != 'row ' || number").fetchone()[0] if promised else 0
    print(f"{len(promised)} transactions acknowledged, {len(promised & there)} found")
    sys.exit(promised - there != set() or wrong > 0)

connection.execute("create table if not exists t (number integer primary key, text text)")
number = connection.execute("select coalesce(max(number), 0) from t").fetchone()[0]
with open(acknowledged, "a") as log:
    while True:
        number += 1
        connection.execute("insert into t values (?, ?)", (number, f"row {number}"))
        log.write(f"{number}\n")
        log.flush()
