"""SQLAlchemy on psycopg2: its first words, reflection, a pool with ROLLBACK on return, server-side cursors."""
import logging
import threading

import sqlalchemy as sa

notices = []
logger = logging.getLogger("sqlalchemy.dialects.postgresql")  # where it writes what the server says
logger.setLevel(logging.INFO)
logger.addHandler(type("Kept", (logging.Handler,), {"emit": lambda self, record: notices.append(record.getMessage())})())

engine = sa.create_engine("postgresql+psycopg2://", pool_size=1, max_overflow=0, future=True)


def refusal(e):
    d = e.orig.diag
    return f"{e.orig.pgcode} {(d.message_detail or '').split(' (')[0].split('.')[0]}".strip()


with engine.connect() as conn:
    print("simple", conn.execute(sa.text('SELECT id, note, total, "delete", tags FROM orders WHERE id < 3 ORDER BY id')).all())
    print("parameters", conn.execute(sa.text("SELECT id, :said AS said FROM orders WHERE id = ANY (:ids) ORDER BY id"), {"said": "it's", "ids": [7, 8]}).all())
inspector = sa.inspect(engine)
print("reflected", [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns("trg_t")], inspector.get_pk_constraint("trg_t"),
      inspector.has_table("orders"))
orders = sa.Table("orders", sa.MetaData(), autoload_with=engine)
print("table", [c.name for c in orders.columns])
with engine.connect() as conn:
    query = sa.select(orders.c.id, orders.c.note).where(orders.c.id.in_([1, 2])).order_by(orders.c.id.desc())
    print("core", conn.execute(query).all())
    streamed = conn.execution_options(stream_results=True, max_row_buffer=20).execute(sa.select(orders.c.id).where(orders.c.id <= 50))
    print("streamed", sum(1 for _ in streamed))
for text in ("SELECT ssn FROM customers", "DELETE FROM orders"):
    with engine.connect() as conn:
        try:
            print("not refused", conn.execute(sa.text(text)).all())
        except sa.exc.DBAPIError as e:
            print("refused", refusal(e), "hint" if e.orig.diag.message_hint else "no hint")
with engine.connect() as conn:
    with conn.begin() as transaction:
        try:
            conn.execute(sa.text("SELECT api_key FROM secrets"))
        except sa.exc.DBAPIError as e:
            print("in a transaction", refusal(e))
        try:
            conn.execute(sa.text("SELECT 2"))
        except sa.exc.DBAPIError as e:
            print("failed block", e.orig.pgcode)
        transaction.rollback()
    print("after", conn.execute(sa.text("SELECT 3")).scalar())
    with conn.begin_nested() as savepoint:
        try:
            conn.execute(sa.text("SELECT api_key FROM secrets"))
        except sa.exc.DBAPIError as e:
            print("in a savepoint", refusal(e))
        savepoint.rollback()
    print("after", conn.execute(sa.text("SELECT 4")).scalar())
with engine.connect() as conn:
    raw = conn.connection.dbapi_connection if hasattr(conn.connection, "dbapi_connection") else conn.connection.connection
    threading.Timer(0.3, raw.cancel).start()
    try:
        conn.execute(sa.text("SELECT count(*) FROM big a, big b, big c"))
    except sa.exc.DBAPIError as e:
        print("cancelled", e.orig.pgcode)
    conn.rollback()
    del notices[:]
    print("limited", len(conn.execute(sa.text("SELECT id FROM big")).all()), [n.split("\n")[0] for n in notices])
    print("after", conn.execute(sa.text("SELECT 5")).scalar())
