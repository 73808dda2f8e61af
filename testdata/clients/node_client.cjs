// node-postgres: simple queries without values, unnamed and named statements with them.
const { Client } = require('pg')

const refusal = (e) => `${e.code} ${(e.detail || '').split(' (')[0].split('.')[0]}`.trim()

async function main() {
  const client = new Client()
  const notices = []
  client.on('notice', (n) => notices.push(n.message))
  await client.connect()
  const show = (name, r) => console.log(name, JSON.stringify(r.rows))

  show('simple', await client.query('SELECT id, note, total, update_at, "delete", tags, doc FROM orders WHERE id < 3 ORDER BY id'))
  for (const i of [7, 8]) {
    show('prepared', await client.query({ name: 'by id', text: 'SELECT id, $2::text AS said FROM orders WHERE id = $1', values: [i, "it's"] }))
  }
  await client.query('BEGIN')
  const portal = await client.query({ text: 'SELECT id FROM orders WHERE id <= $1 ORDER BY id', values: [50], rows: 20 })
  console.log('streamed', portal.rows.length)
  await client.query('COMMIT')

  for (const text of ['SELECT ssn FROM customers', 'DELETE FROM orders']) {
    await client.query(text).then((r) => show('not refused', r), (e) => console.log('refused', refusal(e), e.hint ? 'hint' : 'no hint'))
  }
  await client.query("SELECT ssn FROM customers WHERE id = $1", [1]).catch((e) => console.log('refused at Parse', refusal(e)))

  await client.query('BEGIN')
  await client.query('SELECT api_key FROM secrets').catch((e) => console.log('in a transaction', refusal(e)))
  await client.query('SELECT 2').catch((e) => console.log('failed block', e.code))
  await client.query('ROLLBACK')
  show('after', await client.query('SELECT 3 AS three'))

  const slow = client.query('SELECT count(*) FROM big a, big b, big c').catch((e) => console.log('cancelled', e.code))
  await new Promise((done) => setTimeout(done, 300))
  const other = new Client()
  other.cancel(client, client._activeQuery || client.activeQuery)
  await slow

  notices.length = 0
  const limited = await client.query('SELECT id FROM big')
  console.log('limited', limited.rows.length, limited.command, limited.rowCount, JSON.stringify(notices))
  show('after', await client.query('SELECT $1::int AS four', [4]))
  await client.end()
}

main().catch((e) => { console.error(e); process.exit(1) })
