// Two MCP servers, spoken to as an agent's host does: the traffic pgairlock is for.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const servers = {
  'server-postgres': { args: ['node_modules/@modelcontextprotocol/server-postgres/dist/index.js', process.env.DATABASE_URL], tool: 'query' },
  dbhub: { args: ['node_modules/@bytebase/dbhub/dist/index.js', '--transport', 'stdio', '--dsn', process.env.DATABASE_URL + '?sslmode=disable'], tool: 'execute_sql' },
}
const brief = (text) => text.replace(/\s+/g, ' ').slice(0, 160)

for (const [name, { args, tool }] of Object.entries(servers)) {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StdioClientTransport({ command: 'node', args, env: process.env, stderr: 'ignore' }))
  const ask = async (what, sql) => {
    const answer = await client.callTool({ name: tool, arguments: { sql } }).catch((e) => ({ content: [{ text: 'error: ' + e.message }] }))
    const text = answer.content.map((c) => c.text).join(' ')
    const rows = text.match(/"id"/g)?.length ?? 0
    console.log(name, what, rows > 3 ? `${rows} rows` : brief(text))
  }
  console.log(name, 'tools', (await client.listTools()).tools.map((t) => t.name).sort().join(' '))
  await ask('reads', 'SELECT id, note FROM orders WHERE id < 3 ORDER BY id')
  await ask('is refused a column', 'SELECT ssn FROM customers')
  await ask('is refused a star', 'SELECT * FROM customers')
  await ask('is refused a table', 'SELECT api_key FROM secrets')
  await ask('is refused a write', "WITH d AS (DELETE FROM orders RETURNING id) SELECT id FROM d")
  await ask('goes on', 'SELECT id, name FROM customers WHERE id = 1')
  await ask('is limited', 'SELECT id FROM big')
  await ask('sees no breakout', 'COMMIT; DROP TABLE orders')
  await ask('still reads', 'SELECT id, note FROM orders WHERE id = 3')
  await client.close()
}
