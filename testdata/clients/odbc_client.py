"""psqlODBC by pyodbc: prepares with parameters, DEALLOCATE by SQL, cursors by DECLARE where asked."""
import os
import threading

import pyodbc

base = (f"DRIVER=PostgreSQL Unicode;SERVER={os.environ['PGHOST']};PORT={os.environ['PGPORT']};DATABASE={os.environ['PGDATABASE']};"
        f"UID={os.environ['PGUSER']};PWD={os.environ['PGPASSWORD']};")


def refusal(e):
    text = e.args[1]
    lines = [line.strip() for line in text.split(";\n")[0].splitlines()]
    return e.args[0], lines[0].split("ERROR:")[-1].strip()


conn = pyodbc.connect(base, autocommit=True)
cur = conn.cursor()
print("simple", [tuple(r) for r in cur.execute("SELECT id, note, total, \"delete\", tags FROM orders WHERE id < 3 ORDER BY id").fetchall()])
for i in (7, 8, 9):
    print("prepared", [tuple(r) for r in cur.execute("SELECT id, ? AS said FROM orders WHERE id = ?", "it's", i).fetchall()])
print("columns", [(r.column_name, r.type_name) for r in cur.columns(table="trg_t")], [r.table_name for r in cur.tables(table="orders")])
for text in ("SELECT ssn FROM customers", "DELETE FROM orders"):
    try:
        print("not refused", cur.execute(text).fetchall())
    except pyodbc.Error as e:
        print("refused", *refusal(e))
conn.autocommit = False
cur.execute("SELECT 1").fetchall()
try:
    cur.execute("SELECT api_key FROM secrets")
except pyodbc.Error as e:
    print("in a transaction", *refusal(e))
conn.rollback()
print("after", tuple(cur.execute("SELECT 3").fetchone()))
conn.rollback()
conn.autocommit = True
threading.Timer(0.3, cur.cancel).start()
try:
    cur.execute("SELECT count(*) FROM big a, big b, big c").fetchall()
except pyodbc.Error as e:
    print("cancelled", e.args[0])
print("limited", len(cur.execute("SELECT id FROM big").fetchall()))
print("after", tuple(cur.execute("SELECT 4").fetchone()))
conn.close()
streaming = pyodbc.connect(base + "UseDeclareFetch=1;Fetch=20;", autocommit=True)
cur = streaming.cursor()
print("streamed", len(cur.execute("SELECT id FROM orders WHERE id <= 50 ORDER BY id").fetchall()))
streaming.close()
