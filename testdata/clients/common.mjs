// What the scripts for Node share. Run beside them.
export const refusal = (e) => {
  const d = e.cause ?? e.original ?? e.driverError ?? e
  return `${d.code} ${(d.detail || '').split(' (')[0].split('.')[0]}`.trim() + (d.hint ? ' hint' : '')
}

export const attempt = (name, work) => Promise.resolve().then(work).then((r) => console.log(name, 'not refused', JSON.stringify(r)), (e) => console.log(name, refusal(e)))

export const show = (name, rows) => console.log(name, JSON.stringify(rows))

export const pause = (ms) => new Promise((done) => setTimeout(done, ms))

export const env = {
  host: process.env.PGHOST, port: Number(process.env.PGPORT), user: process.env.PGUSER, password: process.env.PGPASSWORD, database: process.env.PGDATABASE,
}

export const simple = 'SELECT id, note, total, "delete", tags, doc FROM orders WHERE id < 3 ORDER BY id'
export const slow = 'SELECT count(*) FROM big a, big b, big c'
