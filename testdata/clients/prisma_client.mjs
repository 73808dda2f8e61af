// Prisma's client on pg: its own SQL, transactions of both kinds, raw queries.
import { PrismaPg } from '@prisma/adapter-pg'
import made from './prisma-made/index.js'
import { show, simple } from './common.mjs'

const db = new made.PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL, max: 1 }), errorFormat: 'minimal' })
const code = (e) => [e.code, e.meta?.code ?? e.meta?.driverAdapterError?.cause?.originalCode ?? e.cause?.originalCode].filter(Boolean).join(' ')
const refused = (name, work) => work().then((r) => show(name + ' not refused', r), (e) => console.log(name, e.constructor.name, code(e)))
show('raw', await db.$queryRawUnsafe(simple))
show('found', await db.orders.findMany({ where: { id: { in: [7, 8] } }, orderBy: { id: 'desc' } }))
show('one', await db.orders.findUnique({ where: { id: 9 }, select: { note: true } }))
show('sums', await db.orders.aggregate({ where: { id: { lte: 50 } }, _sum: { total: true }, _count: true }))
show('tagged', await db.$queryRaw`SELECT id, ${"it's"}::text AS said FROM orders WHERE id = ${7}`)
await refused('refused', () => db.customers.findMany())
await refused('refused', () => db.orders.deleteMany())
await refused('refused', () => db.orders.create({ data: { id: 1000 } }))
await refused('refused raw', () => db.$queryRaw`SELECT ssn FROM customers`)
show('allowed columns', await db.customers.findMany({ select: { id: true, name: true }, where: { id: 1 } }))
await refused('in a batch', () => db.$transaction([db.orders.findFirst({ where: { id: 1 } }), db.customers.findMany()]))
await refused('in a transaction', () => db.$transaction(async (tx) => {
  await tx.orders.findFirst()
  await tx.customers.findMany()
}))
show('after', await db.orders.findFirst({ where: { id: 3 }, select: { note: true } }))
console.log('limited', (await db.$queryRaw`SELECT id FROM big`).length)
show('after', await db.$queryRaw`SELECT 4 AS four`)
await db.$disconnect()
