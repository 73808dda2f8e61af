"""pg8000 1.10: knows no SCRAM, so it logs in by client certificate; every statement is named, parsed and described
with Flush, read by portals of 100 rows; it sends no CancelRequest."""
import os
import ssl

import pg8000

context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.load_cert_chain(os.environ["CLIENT_CERT"], os.environ["CLIENT_KEY"])
ssl.wrap_socket = context.wrap_socket  # pg8000 would show none
conn = pg8000.connect(host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), user=os.environ["PGUSER"],
                      database=os.environ["PGDATABASE"], ssl=True)
notices = []


def heard(fields):
    notices.append(fields)


conn.NoticeReceived += heard


def refusal(e):
    return " ".join(a.split(" (")[0].rstrip(".") for a in e.args[2:] if a == e.args[2] or a.startswith("Rule "))


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
        print("refused", refusal(e))
    except pg8000.Error as e:
        print("refused", refusal(e))
conn.autocommit = False
cur.execute("SELECT 1")
try:
    cur.execute("SELECT api_key FROM secrets")
except pg8000.Error as e:
    print("in a transaction", refusal(e))
try:
    cur.execute("SELECT 2")
except pg8000.Error as e:
    print("failed block", refusal(e))
conn.rollback()
cur.execute("SELECT 3")
print("after", list(cur.fetchone()))
conn.commit()
conn.autocommit = True
conn.autocommit = False  # or it takes no more than one portal of rows
del notices[:]
cur.execute("SELECT id FROM big")
print("limited", len(cur.fetchall()), [n[b"M"].decode() for n in notices])
cur.execute("SELECT 4")
print("after", list(cur.fetchone()))
conn.close()
