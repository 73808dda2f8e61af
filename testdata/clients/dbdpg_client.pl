# DBD::Pg: first run unnamed, then named statements; comment pings; asynchronous queries that can be cancelled.
use strict;
use warnings;
use DBI;
use DBD::Pg qw(:async);
$| = 1;
my @notices;
local $SIG{__WARN__} = sub { push @notices, (split /\n/, $_[0])[0] };
my $db = DBI->connect("dbi:Pg:host=$ENV{PGHOST};port=$ENV{PGPORT};dbname=$ENV{PGDATABASE}", $ENV{PGUSER}, $ENV{PGPASSWORD},
    { RaiseError => 1, PrintError => 0, AutoCommit => 1 });

sub show { my ($name, $rows) = @_; print "$name ", join(' ', map { '[' . join(',', map { ref $_ ? "{@$_}" : $_ // 'NULL' } @$_) . ']' } @$rows), "\n" }

sub refusal {
    my $text = $db->errstr;
    my ($rule) = $text =~ /(Rule [a-z-]+)/;
    return join ' ', $db->state, $rule // '', $text =~ /HINT:/ ? 'hint' : '';
}
show('simple', $db->selectall_arrayref('SELECT id, note, total, "delete", tags FROM orders WHERE id < 3 ORDER BY id'));
my $s = $db->prepare('SELECT id, ?::text AS said FROM orders WHERE id = ?');
for my $i (7, 8, 9) { $s->execute("it's", $i); show('prepared', $s->fetchall_arrayref) }
print 'ping ', $db->ping, "\n";
show('columns', [map { [$_->[3], $_->[5]] } @{ $db->column_info(undef, 'public', 'trg_t', undef)->fetchall_arrayref }]);
for my $text ('SELECT ssn FROM customers', 'DELETE FROM orders') {
    eval { $db->do($text); 1 } ? print "not refused\n" : print 'refused ', refusal(), "\n";
    eval { my $p = $db->prepare($text); $p->execute; $p->execute; 1 } ? print "not refused\n" : print 'refused when prepared ', refusal(), "\n";
}
$db->begin_work;
$db->do('DECLARE stream CURSOR FOR SELECT id FROM orders WHERE id <= 50 ORDER BY id');
my $rows = 0;
while ((my $n = @{ $db->selectall_arrayref('FETCH 20 FROM stream') }) > 0) { $rows += $n }
print "streamed $rows\n";
eval { $db->do('SELECT api_key FROM secrets') } or print 'in a transaction ', refusal(), ' ', $db->ping, "\n";
eval { $db->do('SELECT 2') } or print 'failed block ', $db->state, "\n";
$db->rollback;
show('after', $db->selectall_arrayref('SELECT 3'));
$db->do('SELECT count(*) FROM big a, big b, big c', { pg_async => PG_ASYNC });
select undef, undef, undef, 0.3;
print 'cancelled ', $db->pg_cancel ? 'yes' : 'no', "\n";
@notices = ();
print 'limited ', scalar @{ $db->selectall_arrayref('SELECT id FROM big') }, " @notices\n";
show('after', $db->selectall_arrayref('SELECT 4'));
$db->disconnect;
