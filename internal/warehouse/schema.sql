-- A mail-order company's warehouse database. Constraints come after the data (constraints.sql): they are then checked once.
CREATE SCHEMA reporting;

CREATE TYPE order_status AS ENUM ('new', 'picking', 'packed', 'shipped', 'delivered', 'returned', 'cancelled');
CREATE TYPE payment_method AS ENUM ('card', 'invoice', 'wallet');

CREATE TABLE warehouses (
  id        int  NOT NULL,
  code      text NOT NULL,
  name      text NOT NULL,
  city      text NOT NULL,
  country   text NOT NULL,
  opened_on date NOT NULL
);

CREATE TABLE products (
  id         int           NOT NULL,
  sku        text          NOT NULL,
  name       text          NOT NULL,
  category   text          NOT NULL,
  unit_price numeric(10,2) NOT NULL,
  weight_g   int           NOT NULL,
  active     boolean       NOT NULL
);

CREATE TABLE customers (
  id         int         NOT NULL,
  name       text        NOT NULL,
  email      text        NOT NULL,
  phone      text        NOT NULL,
  region     text        NOT NULL,
  city       text        NOT NULL,
  created_at timestamptz NOT NULL
);

CREATE TABLE waves (
  id           int         NOT NULL,
  warehouse_id int         NOT NULL,
  picker       text        NOT NULL,
  status       text        NOT NULL,
  planned_for  timestamptz NOT NULL
);

CREATE TABLE orders (
  id           int           NOT NULL,
  customer_id  int           NOT NULL,
  warehouse_id int           NOT NULL,
  wave_id      int,                          -- NULL until the order is planned, and when it is cancelled
  status       order_status  NOT NULL,
  total        numeric(10,2) NOT NULL,
  placed_at    timestamptz   NOT NULL,
  shipped_at   timestamptz,
  version      int           NOT NULL DEFAULT 1
);

CREATE TABLE order_items (
  order_id   int           NOT NULL,
  line       int           NOT NULL,
  product_id int           NOT NULL,
  qty        int           NOT NULL,
  unit_price numeric(10,2) NOT NULL
);

CREATE TABLE inventory (
  warehouse_id int         NOT NULL,
  product_id   int         NOT NULL,
  qty          int         NOT NULL,
  reserved     int         NOT NULL,
  bin          text        NOT NULL,
  counted_at   timestamptz NOT NULL
);

CREATE TABLE payments (
  id         int            NOT NULL,
  order_id   int            NOT NULL,
  method     payment_method NOT NULL,
  amount     numeric(10,2)  NOT NULL,
  card_last4 text,
  paid_at    timestamptz    NOT NULL
);
