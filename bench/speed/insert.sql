\set n random(1, 1000000000)
INSERT INTO journal (note) VALUES ('entry :n');
