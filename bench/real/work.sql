-- sqlite: a table is filled, indexed, joined, grouped, changed and dropped, all in memory.
PRAGMA temp_store = MEMORY;
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, kind INTEGER, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO item SELECT i, 'item-' || (i * 7919 % 10007) || substr('xxxxxxxxxxxxxxxxxxxxxxxx', 1, i % 24), i % 97, i * 1.25 FROM n;
CREATE INDEX item_name ON item(name);
SELECT kind, count(*), sum(length(name)), group_concat(substr(name, 6, 3)) FROM item GROUP BY kind ORDER BY 3 DESC LIMIT 3;
SELECT count(*) FROM item a JOIN item b ON a.name = b.name WHERE a.id < b.id;
UPDATE item SET name = upper(name) || '-' || kind WHERE id % 3 = 0;
DELETE FROM item WHERE id % 5 = 0;
SELECT max(name), min(name), count(DISTINCT name) FROM item;
DROP TABLE item;
