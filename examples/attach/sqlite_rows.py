"""Rows that are numbered in the order of their commits, one a transaction.

sqlite_rows.py create DATABASE   makes the table
sqlite_rows.py write DATABASE    commits until the drive fails; prints the number of each row that SQLite says is committed
sqlite_rows.py read DATABASE     prints the numbers of all rows that are as they were written; fails if SQLite finds damage

JOURNAL_MODE and SYNCHRONOUS of the environment: SQLite's pragmas of these names. With wal and full, which are taken
otherwise, a commit is flushed to the drive before it returns.
"""
import os
import sqlite3
import sys



def opened(database):
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute(f"pragma journal_mode = {os.environ.get('JOURNAL_MODE', 'wal')}")
    connection.execute(f"pragma synchronous = {os.environ.get('SYNCHRONOUS', 'full')}")
    return connection


def create(database):
    opened(database).execute("create table t (number integer primary key, text text)")


def write(database):
    connection = opened(database)
    number = connection.execute("select coalesce(max(number), 0) from t").fetchone()[0]
    while True:
        number += 1
        connection.execute("insert into t values (?, ?)", (number, f"row {number}"))
        print(number, flush=True)


def read(database):
    if not os.path.exists(database):
        sys.exit("there is no database")
    try:
        connection = opened(database)
        for (number,) in connection.execute("select number from t where text = 'row ' || number"):
            print(number)
        finding = connection.execute("pragma integrity_check").fetchone()[0]
    except sqlite3.Error as error:
        finding = str(error)
    if finding != "ok":
        sys.exit(finding)


{"create": create, "write": write, "read": read}[sys.argv[1]](sys.argv[2])
