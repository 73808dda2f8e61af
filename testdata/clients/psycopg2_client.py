"""psycopg2: simple protocol only, a transaction around everything, a named cursor."""
import threading

import psycopg2
import psycopg2.errorcodes


def refusal(e):
    return f"{e.pgcode} {(e.diag.message_detail or '').split(' (')[0].split('.')[0]}".strip()


conn = psycopg2.connect("")
conn.autocommit = True
cur = conn.cursor()

cur.execute("SELECT id, note, total, update_at, \"delete\", tags, doc FROM orders WHERE id < 3 ORDER BY id")
print("simple", cur.fetchall())
cur.execute("SELECT id, %s AS said FROM orders WHERE id = ANY (%s) ORDER BY id", ("it's", [7, 8]))
print("parameters", cur.fetchall(), [d.name for d in cur.description])

conn.autocommit = False
with conn.cursor("stream") as named:
    named.itersize = 20
    named.execute("SELECT id FROM orders WHERE id <= 50 ORDER BY id")
    print("streamed", sum(1 for _ in named))
conn.commit()
conn.autocommit = True

for text in ("SELECT ssn FROM customers", "DELETE FROM orders"):
    try:
        cur.execute(text)
        print("not refused", cur.fetchall())
    except psycopg2.Error as e:
        print("refused", refusal(e), "hint" if e.diag.message_hint else "no hint")

conn.autocommit = False
cur = conn.cursor()
cur.execute("SELECT 1")
try:
    cur.execute("SELECT api_key FROM secrets")
except psycopg2.Error as e:
    print("in a transaction", refusal(e), conn.info.transaction_status)
try:
    cur.execute("SELECT 2")
except psycopg2.Error as e:
    print("failed block", e.pgcode)
conn.rollback()
cur.execute("SELECT 3")
print("after", cur.fetchone())
conn.commit()
conn.autocommit = True

threading.Timer(0.3, conn.cancel).start()
try:
    cur.execute("SELECT count(*) FROM big a, big b, big c")
except psycopg2.Error as e:
    print("cancelled", e.pgcode)

del conn.notices[:]
cur.execute("SELECT id FROM big")
print("limited", len(cur.fetchall()), cur.statusmessage, [n.split("\n")[0] for n in conn.notices])
cur.execute("SELECT 4")
print("after", cur.fetchone())
