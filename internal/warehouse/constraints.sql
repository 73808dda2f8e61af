ALTER TABLE warehouses ADD PRIMARY KEY (id), ADD UNIQUE (code);
ALTER TABLE products ADD PRIMARY KEY (id), ADD UNIQUE (sku), ADD CHECK (unit_price > 0);
ALTER TABLE customers ADD PRIMARY KEY (id), ADD UNIQUE (email);
ALTER TABLE waves ADD PRIMARY KEY (id), ADD FOREIGN KEY (warehouse_id) REFERENCES warehouses;
ALTER TABLE orders ADD PRIMARY KEY (id), ADD FOREIGN KEY (customer_id) REFERENCES customers,
  ADD FOREIGN KEY (warehouse_id) REFERENCES warehouses, ADD FOREIGN KEY (wave_id) REFERENCES waves;
ALTER TABLE order_items ADD PRIMARY KEY (order_id, line), ADD FOREIGN KEY (order_id) REFERENCES orders,
  ADD FOREIGN KEY (product_id) REFERENCES products, ADD CHECK (qty > 0);
ALTER TABLE inventory ADD PRIMARY KEY (warehouse_id, product_id), ADD FOREIGN KEY (warehouse_id) REFERENCES warehouses,
  ADD FOREIGN KEY (product_id) REFERENCES products, ADD CHECK (qty >= 0), ADD CHECK (reserved >= 0);
ALTER TABLE payments ADD PRIMARY KEY (id), ADD FOREIGN KEY (order_id) REFERENCES orders;
CREATE INDEX ON orders (customer_id);
CREATE INDEX ON orders (placed_at);
CREATE INDEX ON orders (status) WHERE status IN ('new', 'picking', 'packed');
CREATE INDEX ON order_items (product_id);
CREATE INDEX ON payments (order_id);

COMMENT ON COLUMN customers.email IS 'personal data';
COMMENT ON COLUMN customers.phone IS 'personal data';
COMMENT ON COLUMN orders.version IS 'counts changes; an update names the version it has seen';

CREATE VIEW reporting.daily_sales AS
  SELECT (placed_at AT TIME ZONE 'UTC')::date AS day, count(*) AS orders, sum(total) AS revenue
  FROM orders WHERE status <> 'cancelled' GROUP BY 1;
CREATE VIEW reporting.low_stock AS
  SELECT w.code AS warehouse, p.sku, p.name, i.qty - i.reserved AS available
  FROM inventory i JOIN warehouses w ON w.id = i.warehouse_id JOIN products p ON p.id = i.product_id
  WHERE i.qty - i.reserved < 10 AND p.active;

ANALYZE;
