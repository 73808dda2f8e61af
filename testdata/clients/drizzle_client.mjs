// Drizzle on pg: typed queries, prepared ones, transactions with savepoints.
import { eq, inArray, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, numeric, pgTable, text } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { attempt, env, show, simple } from './common.mjs'

const client = new pg.Client(env)
const notices = []
client.on('notice', (n) => notices.push(n.message))
await client.connect()
const db = drizzle(client)
const orders = pgTable('orders', { id: integer('id').primaryKey(), note: text('note'), total: numeric('total') })
const customers = pgTable('customers', { id: integer('id').primaryKey(), name: text('name'), ssn: text('ssn') })
show('raw', (await db.execute(sql.raw(simple))).rows)
show('selected', await db.select().from(orders).where(inArray(orders.id, [7, 8])).orderBy(orders.id))
const prepared = db.select({ note: orders.note }).from(orders).where(eq(orders.id, sql.placeholder('id'))).prepare('by_id')
for (const id of [7, 8]) show('prepared', await prepared.execute({ id }))
await attempt('refused', () => db.select().from(customers))
await attempt('refused', () => db.delete(orders))
await attempt('refused', () => db.insert(orders).values({ id: 1000, note: 'new' }))
show('allowed columns', await db.select({ name: customers.name }).from(customers).where(eq(customers.id, 1)))
await db.transaction(async (tx) => {
  await tx.select().from(orders).limit(1)
  await tx.transaction((inner) => inner.select().from(customers)).catch((e) => console.log('in a savepoint', (e.cause ?? e).code))
  show('after', await tx.select({ note: orders.note }).from(orders).where(eq(orders.id, 3)))
})
await db.transaction(async (tx) => {
  await attempt('in a transaction', () => tx.select().from(customers))
  await tx.execute(sql`SELECT 2`)
}).catch((e) => console.log('failed block', (e.cause ?? e).code))
notices.length = 0
console.log('limited', (await db.execute(sql`SELECT id FROM big`)).rows.length, JSON.stringify(notices))
show('after', (await db.execute(sql`SELECT ${4}::int AS four`)).rows)
await client.end()
