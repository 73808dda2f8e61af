// postgres.js: everything prepared, described with Flush, cursors by portal, cancel of its own.
import postgres from 'postgres'
import { attempt, pause, refusal, show, slow } from './common.mjs'

const notices = []
const sql = postgres({ max: 1, onnotice: (n) => notices.push(n.message) })
show('simple', await sql`SELECT id, note, total, "delete", tags, doc FROM orders WHERE id < 3 ORDER BY id`)
show('unsafe', (await sql.unsafe('SELECT 1 AS one; SELECT 2 AS two')).map((r) => [...r]))
for (const i of [7, 8]) show('prepared', await sql`SELECT id, ${"it's"}::text AS said FROM orders WHERE id = ${i}`)
show('array', await sql`SELECT id FROM orders WHERE id = ANY(${[3, 4]}) ORDER BY id`)
let rows = 0
await sql`SELECT id FROM orders WHERE id <= ${50} ORDER BY id`.cursor(20, (r) => { rows += r.length })
console.log('streamed', rows)
await attempt('refused', () => sql`SELECT ssn FROM customers`)
await attempt('refused', () => sql`DELETE FROM orders`)
await attempt('refused with a parameter', () => sql`SELECT ssn FROM customers WHERE id = ${1}`)
await sql.begin(async (tx) => {
  await tx`SELECT 1`
  await attempt('in a transaction', () => tx`SELECT api_key FROM secrets`)
  await tx`SELECT 2`
}).catch((e) => console.log('the transaction ends with', e.code))
show('after', await sql`SELECT 3 AS three`)
await sql.begin('read only', (tx) => Promise.allSettled([tx`SELECT 1 AS one`, tx`SELECT ssn FROM customers`, tx`SELECT 2 AS two`]).then((all) => {
  console.log('pipeline', all.map((r) => (r.status === 'fulfilled' ? JSON.stringify(r.value) : refusal(r.reason))))
})).catch((e) => console.log('pipeline', e.code))
const running = sql.unsafe(slow).execute()
await pause(300)
running.cancel()
await running.catch((e) => console.log('cancelled', e.code))
notices.length = 0
const limited = await sql`SELECT id FROM big`
console.log('limited', limited.length, limited.command, JSON.stringify(notices))
show('after', await sql`SELECT 4 AS four`)
await sql.end()
