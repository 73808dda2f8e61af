"""asyncpg: named statements described with Flush, everything binary, portals, its own reset between uses."""
import asyncio

import asyncpg


def refusal(e):
    return f"{e.sqlstate} {(e.detail or '').split(' (')[0].split('.')[0]}".strip()


async def main():
    for cache in (100, 0):
        pool = await asyncpg.create_pool(min_size=1, max_size=1, statement_cache_size=cache, ssl=False)
        async with pool.acquire() as conn:
            await use(conn)
        async with pool.acquire() as conn:  # has been reset
            print("after reset", await conn.fetchval("SELECT 6"))
        await pool.close()


async def use(conn):
    notices = []
    conn.add_log_listener(lambda _, m: notices.append(m.message))
    print("simple", [tuple(r) for r in await conn.fetch('SELECT id, note, total, update_at, "delete", tags, doc FROM orders WHERE id < 3 ORDER BY id')])
    print("no arguments", await conn.execute("SELECT 1"))
    stmt = await conn.prepare("SELECT id, $1::text AS said FROM orders WHERE id = $2")
    for i in (7, 8):
        print("prepared", [tuple(r) for r in await stmt.fetch("it's", i)])
    async with conn.transaction():
        print("streamed", len([r async for r in conn.cursor("SELECT id FROM orders WHERE id <= $1 ORDER BY id", 50, prefetch=20)]))
        cursor = await conn.cursor("SELECT id FROM orders WHERE id <= 50 ORDER BY id")
        print("portal", len(await cursor.fetch(20)), len(await cursor.fetch(20)), len(await cursor.fetch(20)))
    for text in ("SELECT ssn FROM customers", "DELETE FROM orders"):
        try:
            print("not refused", await conn.fetch(text))
        except asyncpg.PostgresError as e:
            print("refused", refusal(e), "hint" if e.hint else "no hint")
    transaction = conn.transaction()
    await transaction.start()
    try:
        await conn.fetch("SELECT api_key FROM secrets")
    except asyncpg.PostgresError as e:
        print("in a transaction", refusal(e))
    try:
        await conn.fetch("SELECT 2")
    except asyncpg.PostgresError as e:
        print("failed block", e.sqlstate)
    await transaction.rollback()
    print("after", await conn.fetchval("SELECT 3"))
    try:
        await conn.executemany("SELECT $1::int", [(1,), (2,)])
        print("many")
    except asyncpg.PostgresError as e:
        print("many", refusal(e))
    try:
        await conn.fetch("SELECT count(*) FROM big a, big b, big c", timeout=0.3)
    except asyncio.TimeoutError:
        print("cancelled by timeout")
    print("after", await conn.fetchval("SELECT 4"))
    del notices[:]
    print("limited", len(await conn.fetch("SELECT id FROM big")), notices)
    print("after", await conn.fetchval("SELECT 5"))


asyncio.run(main())
