// TypeORM on pg: version() first, entities, streams, transactions.
import 'reflect-metadata'
import { DataSource, EntitySchema, In } from 'typeorm'
import { attempt, env, show, simple } from './common.mjs'

const Order = new EntitySchema({ name: 'Order', tableName: 'orders', columns: { id: { type: Number, primary: true }, note: { type: 'text' }, total: { type: 'numeric' } } })
const Customer = new EntitySchema({ name: 'Customer', tableName: 'customers', columns: { id: { type: Number, primary: true }, name: { type: 'text' }, ssn: { type: 'text' } } })
const db = await new DataSource({ type: 'postgres', host: env.host, port: env.port, username: env.user, password: env.password, database: env.database,
  entities: [Order, Customer], poolSize: 1 }).initialize()
show('raw', await db.query(simple))
const orders = db.getRepository(Order), customers = db.getRepository(Customer)
show('found', await orders.find({ where: { id: In([7, 8]) }, order: { id: 'DESC' } }))
show('built', await orders.createQueryBuilder('o').where('o.note = :note', { note: 'note 9' }).getOne())
show('counted', await orders.findAndCount({ take: 2, order: { id: 'ASC' }, select: { id: true } }))
await attempt('refused', () => customers.find())
await attempt('refused', () => orders.delete({ id: 1 }))
await attempt('refused', () => orders.save({ id: 1000, note: 'new', total: '1' }))
show('allowed columns', await customers.find({ select: { id: true, name: true }, where: { id: 1 } }))
await db.transaction(async (tx) => {
  await tx.getRepository(Order).findOneBy({ id: 1 })
  await attempt('in a transaction', () => tx.getRepository(Customer).find())
  await tx.query('SELECT 2')
}).catch((e) => console.log('failed block', e.driverError.code))
show('after', await orders.findOneBy({ id: 3 }))
console.log('limited', (await db.query('SELECT id FROM big')).length)
show('after', await db.query('SELECT 4 AS four'))
await db.destroy()
