-- About 100,000 rows. Every value follows from its row's number, so that each run and each server version has the same
-- data; "now" is 2026-06-30 18:00 UTC.

-- pick is a number below n that looks random and depends on the row and on what it is for. One expression: the planner
-- puts it in place, so that 400,000 calls cost little.
CREATE FUNCTION pg_temp.pick(row_number int, purpose int, n int) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT (((row_number + 7919 * purpose)::bigint * (row_number + 7919 * purpose) % 4294967291 * 1540483477 % 4294967291 >> 9) % n)::int $$;

INSERT INTO warehouses VALUES
  (1, 'HAM', 'Hamburg Harbour', 'Hamburg', 'DE', '2011-04-01'), (2, 'RTM', 'Rotterdam East', 'Rotterdam', 'NL', '2014-09-15'),
  (3, 'LYS', 'Lyon Part-Dieu', 'Lyon', 'FR', '2017-02-20'), (4, 'WRO', 'Wrocław North', 'Wrocław', 'PL', '2019-06-03'),
  (5, 'BCN', 'Barcelona Zona Franca', 'Barcelona', 'ES', '2022-10-10');

INSERT INTO products
SELECT g, format('%s-%s', code, lpad(g::text, 4, '0')), format('%s %s', adjective, noun), category,
       (floor + pg_temp.pick(g, 1, 40 * floor) / 10.0 - 0.01)::numeric(10,2), 80 + 10 * pg_temp.pick(g, 2, 400), pg_temp.pick(g, 3, 20) > 0
FROM generate_series(1, 600) g,
     LATERAL (SELECT pg_temp.pick(g, 4, 5) + 1) k(kind),
     LATERAL (SELECT (ARRAY['KIT', 'OFF', 'GAR', 'TOY', 'OUT'])[kind], (ARRAY['Kitchen', 'Office', 'Garden', 'Toys', 'Outdoor'])[kind],
                     (ARRAY[8, 4, 12, 6, 20])[kind]) c(code, category, floor),
     LATERAL (SELECT (ARRAY['Classic', 'Compact', 'Folding', 'Nordic', 'Large', 'Small', 'Blue', 'Red', 'Steel', 'Oak', 'Travel', 'Everyday'])[pg_temp.pick(g, 5, 12) + 1]) a(adjective),
     LATERAL (SELECT (CASE kind
         WHEN 1 THEN ARRAY['Kettle', 'Saucepan', 'Cutting Board', 'Bread Knife', 'Mixing Bowl', 'Espresso Cup', 'Colander', 'Scale']
         WHEN 2 THEN ARRAY['Notebook', 'Desk Lamp', 'Stapler', 'Ballpoint Pen', 'File Box', 'Monitor Stand', 'Whiteboard', 'Paper Tray']
         WHEN 3 THEN ARRAY['Watering Can', 'Trowel', 'Planter', 'Garden Hose', 'Rake', 'Seed Tray', 'Pruning Shears', 'Bird Feeder']
         WHEN 4 THEN ARRAY['Puzzle', 'Wooden Train', 'Building Blocks', 'Card Game', 'Kite', 'Plush Bear', 'Spinning Top', 'Paint Set']
         ELSE ARRAY['Tent', 'Backpack', 'Sleeping Bag', 'Head Torch', 'Water Bottle', 'Camping Stove', 'Trail Map', 'Picnic Blanket'] END)[pg_temp.pick(g, 6, 8) + 1]) n(noun);

INSERT INTO customers
SELECT g, first || ' ' || last,
       lower(translate(first || '.' || last, 'äöüéèëłńóáíś ', 'aoueeelnoais.')) || g || '@' || (ARRAY['example.com', 'example.net', 'example.org'])[pg_temp.pick(g, 10, 3) + 1],
       '+44 7700 900' || lpad((g % 1000)::text, 3, '0'),
       (ARRAY['north', 'west', 'south', 'east', 'south'])[place], city,
       timestamptz '2026-06-30 18:00+00' - (4000 - g) * interval '11 hours' - pg_temp.pick(g, 11, 600) * interval '1 minute'
FROM generate_series(1, 4000) g,
     LATERAL (SELECT pg_temp.pick(g, 12, 5) + 1) p(place),
     LATERAL (SELECT (CASE place
         WHEN 1 THEN ARRAY['Hamburg', 'Bremen', 'Kiel', 'Copenhagen'] WHEN 2 THEN ARRAY['Rotterdam', 'Antwerp', 'Utrecht', 'Ghent']
         WHEN 3 THEN ARRAY['Lyon', 'Grenoble', 'Geneva', 'Turin'] WHEN 4 THEN ARRAY['Wrocław', 'Poznań', 'Kraków', 'Brno']
         ELSE ARRAY['Barcelona', 'Valencia', 'Zaragoza', 'Girona'] END)[pg_temp.pick(g, 13, 4) + 1]) c(city),
     LATERAL (SELECT (ARRAY['Anna', 'Ben', 'Carla', 'David', 'Elif', 'Finn', 'Greta', 'Hugo', 'Ida', 'Jan', 'Katarzyna', 'Lukas', 'Marta', 'Noé', 'Olga',
         'Pau', 'Rosa', 'Samir', 'Thérèse', 'Ulla', 'Victor', 'Wanda', 'Yusuf', 'Zoë', 'Agnieszka', 'Bruno', 'Clara', 'Diego', 'Emma', 'Frédéric'])[pg_temp.pick(g, 14, 30) + 1],
         (ARRAY['Müller', 'Kowalski', 'Jansen', 'García', 'Dubois', 'Nowak', 'de Vries', 'Martínez', 'Schmidt', 'Lefèvre', 'Wiśniewski', 'Bakker', 'Puig', 'Fischer',
         'Moreau', 'Zieliński', 'Visser', 'Soler', 'Weber', 'Laurent', 'Novák', 'Peeters', 'Ferrer', 'Becker', 'Girard', 'Wójcik', 'Smit', 'Vidal', 'Hoffmann', 'Rossi'])[pg_temp.pick(g, 15, 30) + 1]) n(first, last);

-- Five waves at a time, one per warehouse, each for the orders of the almost two days before; the last five are ahead.
INSERT INTO waves
SELECT g, g % 5 + 1, (ARRAY['Ines', 'Piotr', 'Femke', 'Karim', 'Lena', 'Oriol', 'Maud', 'Tomasz'])[pg_temp.pick(g, 20, 8) + 1],
       CASE WHEN g > 395 THEN 'planned' WHEN g > 390 THEN 'picking' ELSE 'done' END,
       timestamptz '2026-06-30 18:00+00' - (7999 - ((g - 1) / 5 + 1) * 101) * interval '26 minutes'
FROM generate_series(1, 400) g;

-- One to four lines an order; a product is at most once in an order.
INSERT INTO order_items
SELECT g, line, product, 1 + pg_temp.pick(g * 4 + line, 31, 3) * pg_temp.pick(g + line, 32, 2), p.unit_price
FROM generate_series(1, 20000) g,
     LATERAL generate_series(1, 1 + pg_temp.pick(g, 33, 4)) line,
     LATERAL (SELECT 1 + (pg_temp.pick(g, 34, 600) + line * 149) % 600) x(product)
     JOIN products p ON p.id = product;

-- The newer an order is, the less far it has come; one in 40 is cancelled and one in 50 of the old ones came back.
INSERT INTO orders (id, customer_id, warehouse_id, wave_id, status, total, placed_at, shipped_at)
SELECT g, 1 + pg_temp.pick(g, 40, 4000), warehouse,
       CASE WHEN status NOT IN ('new', 'cancelled') AND g > 12000 THEN (g - 12001) / 101 * 5 + (warehouse + 3) % 5 + 1 END,
       status, total, placed_at,
       CASE WHEN status IN ('shipped', 'delivered', 'returned') THEN placed_at + (18 + pg_temp.pick(g, 42, 30)) * interval '1 hour' END
FROM (SELECT order_id, sum(qty * unit_price) FROM order_items GROUP BY order_id) i(g, total),
     LATERAL (SELECT 1 + pg_temp.pick(g, 41, 5)) w(warehouse),
     LATERAL (SELECT timestamptz '2026-06-30 18:00+00' - (20000 - g) * interval '26 minutes' - pg_temp.pick(g, 43, 20) * interval '1 minute') t(placed_at),
     LATERAL (SELECT (CASE WHEN pg_temp.pick(g, 44, 40) = 0 THEN 'cancelled' WHEN g > 19940 THEN 'new' WHEN g > 19900 THEN 'picking' WHEN g > 19880 THEN 'packed'
                           WHEN g > 19700 THEN 'shipped' WHEN pg_temp.pick(g, 45, 50) = 0 THEN 'returned' ELSE 'delivered' END)::order_status) s(status)
ORDER BY g;

INSERT INTO inventory
SELECT w, p, pg_temp.pick(p, 50 + w, 240), pg_temp.pick(p, 60 + w, 8),
       format('%s-%s-%s', chr(65 + pg_temp.pick(p, 70 + w, 12)), lpad((1 + p / 25)::text, 2, '0'), lpad((1 + p % 25)::text, 2, '0')),
       timestamptz '2026-06-30 18:00+00' - pg_temp.pick(p, 80 + w, 2000) * interval '1 hour'
FROM generate_series(1, 5) w, generate_series(1, 600) p;

INSERT INTO payments
SELECT row_number() OVER (ORDER BY o.id), o.id, method, o.total, CASE method WHEN 'card' THEN lpad(pg_temp.pick(o.id, 90, 10000)::text, 4, '0') END,
       o.placed_at + CASE method WHEN 'invoice' THEN (3 + pg_temp.pick(o.id, 91, 14)) * interval '1 day' ELSE pg_temp.pick(o.id, 92, 180) * interval '1 second' END
FROM orders o, LATERAL (SELECT (ARRAY['card', 'card', 'card', 'wallet', 'invoice'])[pg_temp.pick(o.id, 93, 5) + 1]::payment_method) m(method)
WHERE o.status <> 'cancelled' AND (method <> 'invoice' OR o.id < 19000);

DROP FUNCTION pg_temp.pick;
