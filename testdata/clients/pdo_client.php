<?php
// PDO: statements made by the protocol and closed by SQL DEALLOCATE; then ext-pgsql, whose notices and cancel PDO has not.
function refusal(string $state, string $message): string {
    preg_match('/DETAIL:\s+(Rule [a-z-]+)/', $message, $m);
    return trim("$state " . ($m[1] ?? '')) . (str_contains($message, 'HINT:') ? ' hint' : '');
}
$dsn = sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('PGHOST'), getenv('PGPORT'), getenv('PGDATABASE'));
$db = new PDO($dsn, getenv('PGUSER'), getenv('PGPASSWORD'), [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$rows = fn ($s) => json_encode($s->fetchAll(PDO::FETCH_NUM));
echo 'simple ', $rows($db->query('SELECT id, note, total, "delete", tags FROM orders WHERE id < 3 ORDER BY id')), "\n";
foreach ([7, 8, 9] as $i) {
    $s = $db->prepare('SELECT id, ?::text AS said FROM orders WHERE id = ?');
    $s->execute(["it's", $i]);
    echo 'prepared ', $rows($s), "\n";
    $s = null; // DEALLOCATE pdo_stmt_…
}
$s = $db->prepare('SELECT id FROM orders WHERE id = :id');
foreach ([1, 2, 3] as $i) {
    $s->execute(['id' => $i]);
    echo 'again ', $rows($s), "\n";
}
$db->beginTransaction();
$s = $db->prepare('SELECT id FROM orders WHERE id <= 50 ORDER BY id', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
$s->execute();
for ($n = 0; $s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_NEXT); $n++);
echo "streamed $n\n";
$db->commit();
foreach (['SELECT ssn FROM customers', 'DELETE FROM orders'] as $text) {
    try {
        $db->query($text);
        echo "not refused\n";
    } catch (PDOException $e) {
        echo 'refused ', refusal($e->getCode(), $e->getMessage()), "\n";
    }
    try {
        $db->prepare($text)->execute();
        echo "not refused\n";
    } catch (PDOException $e) {
        echo 'refused when prepared ', refusal($e->getCode(), $e->getMessage()), "\n";
    }
}
$db->beginTransaction();
try {
    $db->query('SELECT api_key FROM secrets');
} catch (PDOException $e) {
    echo 'in a transaction ', refusal($e->getCode(), $e->getMessage()), "\n";
}
try {
    $db->query('SELECT 2');
} catch (PDOException $e) {
    echo 'failed block ', $e->getCode(), "\n";
}
$db->rollBack();
echo 'after ', $rows($db->query('SELECT 3')), "\n";
$db = null;

$c = pg_connect('');
pg_send_query($c, 'SELECT count(*) FROM big a, big b, big c');
usleep(300000);
pg_cancel_query($c);
$r = pg_query_params($c, 'SELECT $1::int', [4]);
echo 'after a cancel ', pg_fetch_result($r, 0, 0), "\n";
$r = pg_query($c, 'SELECT id FROM big');
echo 'limited ', pg_num_rows($r), ' ', json_encode(array_map(fn ($n) => explode("\n", $n)[0], pg_last_notice($c, PGSQL_NOTICE_ALL))), "\n";
pg_prepare($c, 'mine', 'SELECT id FROM orders WHERE id = $1');
echo 'pg_prepare ', pg_fetch_result(pg_execute($c, 'mine', [5]), 0, 0), "\n";
