# ruby-pg: parameters, named statements, single rows, a pipeline, cancel.
require 'pg'

conn = PG.connect
notices = []
conn.set_notice_processor { |m| notices << m.lines.first.strip }

def refusal(e)
  r = e.result
  detail = (r.error_field(PG::PG_DIAG_MESSAGE_DETAIL) || '')[/Rule [a-z-]+/]
  "#{r.error_field(PG::PG_DIAG_SQLSTATE)} #{detail}#{' hint' if r.error_field(PG::PG_DIAG_MESSAGE_HINT)}".strip
end

puts "simple #{conn.exec('SELECT id, note, total, "delete", tags FROM orders WHERE id < 3 ORDER BY id').values}"
conn.prepare('a1', 'SELECT id, $1::text AS said FROM orders WHERE id = $2')
[7, 8].each { |i| puts "prepared #{conn.exec_prepared('a1', ["it's", i]).values}" }
conn.exec('DEALLOCATE a1')
conn.prepare('a1', 'SELECT 1')
puts "again #{conn.exec_prepared('a1').values} #{conn.describe_prepared('a1').fields}"
conn.send_query_params('SELECT id FROM orders WHERE id <= $1', [50])
conn.set_single_row_mode
rows = 0
conn.get_result.stream_each { rows += 1 }
conn.get_result
puts "streamed #{rows}"
['SELECT ssn FROM customers', 'DELETE FROM orders'].each do |text|
  conn.exec_params(text, [])
  puts 'not refused'
rescue PG::Error => e
  puts "refused #{e.class} #{refusal(e)}"
end
begin
  conn.transaction do
    conn.exec('SELECT 1')
    begin
      conn.exec('SELECT api_key FROM secrets')
    rescue PG::Error => e
      puts "in a transaction #{refusal(e)} #{conn.transaction_status == PG::PQTRANS_INERROR}"
    end
    conn.exec('SELECT 2')
  end
rescue PG::Error => e
  puts "failed block #{refusal(e)}"
end
puts "after #{conn.exec('SELECT 3').values}"
conn.enter_pipeline_mode
conn.send_query_params('SELECT id FROM orders WHERE id = $1', [1])
conn.send_query_params('SELECT ssn FROM customers', [])
conn.send_query_params('SELECT id FROM orders WHERE id = $1', [2])
conn.pipeline_sync
states = []
loop do
  r = begin
    conn.get_result
  rescue PG::Error => e
    states << refusal(e)
    next
  end
  next if r.nil?
  break if r.result_status == PG::PGRES_PIPELINE_SYNC

  states << (r.result_status == PG::PGRES_PIPELINE_ABORTED ? 'passed over' : r.res_status(r.result_status))
  r.clear
rescue PG::Error => e
  states << refusal(e)
end
conn.exit_pipeline_mode
puts "pipeline #{states}"
conn.send_query('SELECT count(*) FROM big a, big b, big c')
sleep 0.3
conn.cancel
begin
  conn.get_last_result
rescue PG::Error => e
  puts "cancelled #{refusal(e)}"
end
notices.clear
puts "limited #{conn.exec('SELECT id FROM big').ntuples} #{notices}"
puts "after #{conn.exec('SELECT 4').values}"
