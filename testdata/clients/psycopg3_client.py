"""psycopg 3: extended protocol, prepared statements, binary results, server cursor, pipeline."""
import threading

import psycopg


def refusal(e):
    return f"{e.sqlstate} {(e.diag.message_detail or '').split(' (')[0].split('.')[0]}".strip()


conn = psycopg.connect("", autocommit=True)
notices = []
conn.add_notice_handler(lambda n: notices.append(n.message_primary))

print("simple", conn.execute("SELECT id, note, total, update_at, \"delete\", tags, doc FROM orders WHERE id < 3 ORDER BY id").fetchall())
for i in (7, 8, 9):
    print("prepared", conn.execute("SELECT id, %s::text AS said FROM orders WHERE id = %s", ("it's", i), prepare=True).fetchall())
print("binary", conn.cursor(binary=True).execute("SELECT id, total, note, update_at, tags FROM orders WHERE id = %b", (5,)).fetchall())

with conn.transaction(), conn.cursor("stream") as named:
    named.itersize = 20
    named.execute("SELECT id FROM orders WHERE id <= 50 ORDER BY id")
    print("streamed", sum(1 for _ in named))
print("single rows", sum(1 for _ in conn.cursor().stream("SELECT id FROM orders WHERE id <= %s", (50,))))

for text in ("SELECT ssn FROM customers", "DELETE FROM orders"):
    try:
        print("not refused", conn.execute(text).fetchall())
    except psycopg.Error as e:
        print("refused", refusal(e), "hint" if e.diag.message_hint else "no hint")

conn.autocommit = False
conn.execute("SELECT 1")
try:
    conn.execute("SELECT api_key FROM secrets")
except psycopg.Error as e:
    print("in a transaction", refusal(e), conn.info.transaction_status.name)
try:
    conn.execute("SELECT 2")
except psycopg.Error as e:
    print("failed block", e.sqlstate)
conn.rollback()
print("after", conn.execute("SELECT 3").fetchone())
conn.commit()
conn.autocommit = True

with conn.pipeline() as pipeline:
    first = conn.execute("SELECT id FROM orders WHERE id = %s", (1,))
    refused, skipped = conn.cursor(), conn.cursor()
    heard = []  # at the next call after it came, whichever that is
    for step in (lambda: refused.execute("SELECT ssn FROM customers"),
                 lambda: skipped.execute("SELECT id FROM orders WHERE id = %s", (2,)), pipeline.sync, pipeline.sync):
        try:
            step()
        except psycopg.Error as e:
            heard.append(refusal(e))
    print("pipeline", heard[0])
    print("pipeline, before the refusal", first.fetchall())
    try:
        print("pipeline, not skipped", skipped.fetchall())
    except psycopg.Error as e:
        print("pipeline, after the refusal", type(e).__name__)
    print("pipeline, after Sync", conn.execute("SELECT id FROM orders WHERE id = %s", (3,)).fetchall())
print("after", conn.execute("SELECT 4").fetchone())

threading.Timer(0.3, conn.cancel).start()
try:
    conn.execute("SELECT count(*) FROM big a, big b, big c")
except psycopg.Error as e:
    print("cancelled", e.sqlstate)

notices.clear()
cur = conn.execute("SELECT id FROM big")
print("limited", len(cur.fetchall()), cur.statusmessage, notices)
print("after", conn.execute("SELECT 5").fetchone())
