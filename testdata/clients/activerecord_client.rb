# ActiveRecord: its own settings and type map first, prepared statements a1…, find_each, transactions.
require 'logger'
require 'active_record'

ActiveRecord::Base.establish_connection(adapter: 'postgresql', host: ENV['PGHOST'], port: ENV['PGPORT'], username: ENV['PGUSER'],
                                        password: ENV['PGPASSWORD'], database: ENV['PGDATABASE'], pool: 1)
class Order < ActiveRecord::Base
  self.ignored_columns = ['delete'] # is a method's name
end
class Customer < ActiveRecord::Base; end

def refusal(e)
  r = e.cause.result
  detail = (r.error_field(PG::PG_DIAG_MESSAGE_DETAIL) || '')[/Rule [a-z-]+/]
  "#{e.class} #{r.error_field(PG::PG_DIAG_SQLSTATE)} #{detail}#{' hint' if r.error_field(PG::PG_DIAG_MESSAGE_HINT)}"
end

puts "columns #{Order.columns.map { |c| [c.name, c.sql_type] }}"
puts "where #{Order.where('id < 3').order(:id).map { |o| [o.id, o.note, o.total.to_s, o.tags, o.doc] }}"
3.times { |i| puts "find #{Order.find(7 + i).note}" }
puts "exists #{Order.exists?(note: 'note 7')} sum #{Order.where(id: 1..50).sum(:total)} pluck #{Customer.where('id < 3').order(:id).pluck(:name)}"
puts "in batches #{Order.where('id <= 50').find_each(batch_size: 20).count}"
[-> { Customer.first }, -> { Order.delete_all }, -> { Order.create!(note: 'new') }].each do |work|
  work.call
  puts 'not refused'
rescue ActiveRecord::StatementInvalid => e
  puts "refused #{refusal(e)}"
end
ActiveRecord::Base.transaction do
  Order.find(1)
  begin
    ActiveRecord::Base.transaction(requires_new: true) { Customer.first }
  rescue ActiveRecord::StatementInvalid => e
    puts "in a savepoint #{refusal(e)}"
  end
  puts "after #{Order.find(2).note}"
end
begin
  ActiveRecord::Base.transaction do
    begin
      Customer.first
    rescue ActiveRecord::StatementInvalid
      Order.find(3)
    end
  end
rescue ActiveRecord::StatementInvalid => e
  puts "failed block #{refusal(e)}"
end
puts "after #{Order.find(4).note}"
raw = ActiveRecord::Base.connection.raw_connection
Thread.new { sleep 0.3; raw.cancel }
begin
  ActiveRecord::Base.connection.execute('SELECT count(*) FROM big a, big b, big c')
rescue ActiveRecord::StatementInvalid => e
  puts "cancelled #{refusal(e)}"
end
notices = []
raw.set_notice_processor { |m| notices << m.lines.first.strip }
puts "limited #{ActiveRecord::Base.connection.select_values('SELECT id FROM big').size} #{notices}"
ActiveRecord::Base.connection.reset!
puts "after reset #{Order.find(5).note}"
