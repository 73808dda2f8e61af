// Sequelize on pg: its settings first, models, transactions, describeTable.
import { DataTypes, QueryTypes, Sequelize } from 'sequelize'
import { attempt, env, show, simple } from './common.mjs'

const db = new Sequelize(env.database, env.user, env.password, { host: env.host, port: env.port, dialect: 'postgres', logging: false, pool: { max: 1 } })
await db.authenticate()
const options = { timestamps: false, freezeTableName: true }
const Order = db.define('orders', { id: { type: DataTypes.INTEGER, primaryKey: true }, note: DataTypes.TEXT, total: DataTypes.DECIMAL, tags: DataTypes.ARRAY(DataTypes.TEXT) }, options)
const Customer = db.define('customers', { id: { type: DataTypes.INTEGER, primaryKey: true }, name: DataTypes.TEXT, ssn: DataTypes.TEXT }, options)
show('raw', await db.query(simple, { type: QueryTypes.SELECT }))
show('bound', await db.query('SELECT id, $2::text AS said FROM orders WHERE id = $1', { bind: [7, "it's"], type: QueryTypes.SELECT }))
show('found', await Order.findAll({ where: { id: [7, 8] }, order: ['id'], raw: true }))
show('counted', await Order.findAndCountAll({ where: { id: { [Sequelize.Op.lt]: 50 } }, limit: 2, order: ['id'], attributes: ['id'], raw: true }))
show('described', await db.getQueryInterface().describeTable('trg_t'))
await attempt('refused', () => Customer.findAll())
await attempt('refused', () => Order.destroy({ where: {} }))
await attempt('refused', () => Order.create({ id: 1000, note: 'new' }))
show('allowed columns', await Customer.findAll({ attributes: ['id', 'name'], where: { id: 1 }, raw: true }))
await db.transaction(async (transaction) => {
  await Order.findByPk(1, { transaction })
  await attempt('in a transaction', () => Customer.findAll({ transaction }))
  await Order.findByPk(1, { transaction })
}).catch((e) => console.log('failed block', e.original.code))
show('after', await Order.findByPk(3, { raw: true, attributes: ['note'] }))
console.log('limited', (await db.query('SELECT id FROM big', { type: QueryTypes.SELECT })).length)
show('after', await db.query('SELECT 4 AS four', { type: QueryTypes.SELECT }))
await db.close()
