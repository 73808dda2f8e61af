"""pg8000: every statement named, parsed and described with Flush, portals of 100 rows; it sends no CancelRequest."""
import os

import pg8000

conn = pg8000.connect(host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), user=os.environ["PGUSER"],
                      password=os.environ["PGPASSWORD"], database=os.environ["PGDATABASE"])


def refusal(e):
    fields = e.args[0]
    return f"{fields['C']} {fields.get('D', '').split(' (')[0].split('.')[0]}".strip(), "hint" if fields.get("H") else "no hint"


conn.autocommit = True
cur = conn.cursor()
cur.execute("SELECT id, note, total, \"delete\", tags FROM orders WHERE id < 3 ORDER BY id")
print("simple", [list(r) for r in cur.fetchall()])
for i in (7, 8):
    cur.execute("SELECT id, %s AS said FROM orders WHERE id = %s", ("it's", i))
    print("prepared", [list(r) for r in cur.fetchall()])
cur.execute("SELECT id FROM orders WHERE id <= 50 ORDER BY id")
print("streamed", sum(1 for _ in cur))
for text in ("SELECT ssn FROM customers", "DELETE FROM orders"):
    try:
        cur.execute(text)
        print("not refused")
    except pg8000.ProgrammingError as e:
        print("refused", *refusal(e))
    except pg8000.Error as e:
        print("refused", *refusal(e))
conn.autocommit = False
cur.execute("SELECT 1")
try:
    cur.execute("SELECT api_key FROM secrets")
except pg8000.Error as e:
    print("in a transaction", *refusal(e))
try:
    cur.execute("SELECT 2")
except pg8000.Error as e:
    print("failed block", refusal(e)[0])
conn.rollback()
cur.execute("SELECT 3")
print("after", list(cur.fetchone()))
conn.commit()
conn.autocommit = True
conn.notices.clear()
cur.execute("SELECT id FROM big")
print("limited", len(cur.fetchall()), [n[b"M"].decode() for n in conn.notices])
cur.execute("SELECT 4")
print("after", list(cur.fetchone()))
conn.close()
