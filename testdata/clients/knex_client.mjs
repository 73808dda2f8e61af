// knex on pg: version() first, a pool, a query builder, streams by cursor, cancel on timeout.
import knex from 'knex'
import { attempt, env, show, simple, slow } from './common.mjs'

const notices = []
const db = knex({ client: 'pg', connection: env, pool: { min: 1, max: 1, afterCreate: (c, done) => { c.on('notice', (n) => notices.push(n.message)); done(null, c) } } })
show('raw', (await db.raw(simple)).rows)
show('built', await db('orders').select('id', 'note').whereIn('id', [7, 8]).orderBy('id', 'desc'))
show('joined', await db('orders as o').join('customers as c', 'c.id', 'o.customer_id').where('o.id', '<', 4).orderBy('o.id').select('o.id', 'c.name'))
show('columns', Object.keys(await db('trg_t').columnInfo()))
let rows = 0
for await (const _ of db('orders').select('id').where('id', '<=', 50).stream({ batchSize: 20 })) rows++
console.log('streamed', rows)
await attempt('refused', () => db('customers').select('ssn'))
await attempt('refused', () => db('customers').select())
await attempt('refused', () => db('orders').del())
await db.transaction(async (tx) => {
  await tx('orders').count()
  await attempt('in a transaction', () => tx('secrets').select())
  await tx.raw('SELECT 2')
}).catch((e) => console.log('failed block', e.code))
await db.transaction(async (tx) => {
  await tx.transaction((inner) => inner('secrets').select()).catch((e) => console.log('in a savepoint', e.code))
  show('after', (await tx.raw('SELECT 3 AS three')).rows)
})
const second = knex({ client: 'pg', connection: env, pool: { min: 1, max: 2 } })
await second.raw(slow).timeout(300, { cancel: true }).catch((e) => console.log('cancelled', e.code ?? e.name, e.message))
await second.destroy()
notices.length = 0
console.log('limited', (await db('big').select('id')).length, JSON.stringify(notices))
show('after', (await db.raw('SELECT ?::int AS four', [4])).rows)
await db.destroy()
