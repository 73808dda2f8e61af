import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.StringJoiner;
import java.util.Timer;
import java.util.TimerTask;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** pgjdbc: extended protocol throughout, server-prepared after five runs, portals with a fetch size, batches. */
class JdbcClient {
  public static void main(String[] args) throws SQLException {
    String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
    try (Connection c = DriverManager.getConnection(url, System.getenv("PGUSER"), System.getenv("PGPASSWORD"))) {
      read(c);
      stream(c);
      refusals(c);
      transaction(c);
      cancel(c);
      limit(c);
    }
  }

  static void read(Connection c) throws SQLException {
    try (Statement s = c.createStatement()) {
      show("simple", s.executeQuery("SELECT id, note, total, update_at, \"delete\", tags, doc FROM orders WHERE id < 3 ORDER BY id"));
    }
    try (PreparedStatement p = c.prepareStatement("SELECT id, ? AS said FROM orders WHERE id = ?")) {
      for (int i = 1; i <= 7; i++) {
        p.setString(1, "it's");
        p.setInt(2, i);
        show("prepared", p.executeQuery());
      }
    }
    try (ResultSet tables = c.getMetaData().getColumns(null, "public", "trg_t", null)) {
      while (tables.next()) System.out.println("metadata " + tables.getString("COLUMN_NAME") + " " + tables.getString("TYPE_NAME"));
    }
  }

  static void stream(Connection c) throws SQLException {
    c.setAutoCommit(false);
    try (PreparedStatement p = c.prepareStatement("SELECT id FROM orders WHERE id <= ? ORDER BY id")) {
      p.setFetchSize(20);
      p.setInt(1, 50);
      int rows = 0;
      try (ResultSet r = p.executeQuery()) {
        while (r.next()) rows++;
      }
      System.out.println("streamed " + rows);
    }
    c.commit();
    c.setAutoCommit(true);
  }

  static void refusals(Connection c) throws SQLException {
    for (String text : new String[] {"SELECT ssn FROM customers", "DELETE FROM orders"}) {
      try (Statement s = c.createStatement()) {
        s.execute(text);
        System.out.println("not refused");
      } catch (PSQLException e) {
        System.out.println("refused " + refusal(e) + (e.getServerErrorMessage().getHint() == null ? " no hint" : " hint"));
      }
    }
  }

  static void transaction(Connection c) throws SQLException {
    c.setAutoCommit(false);
    try (Statement s = c.createStatement()) {
      s.execute("SELECT 1");
      try {
        s.execute("SELECT api_key FROM secrets");
      } catch (PSQLException e) {
        System.out.println("in a transaction " + refusal(e));
      }
      try {
        s.execute("SELECT 2");
      } catch (PSQLException e) {
        System.out.println("failed block " + e.getSQLState());
      }
      c.rollback();
      show("after", s.executeQuery("SELECT 3 AS three"));
    }
    c.commit();
    c.setAutoCommit(true);
  }

  static void cancel(Connection c) throws SQLException {
    Timer timer = new Timer(true);
    try (Statement s = c.createStatement()) {
      timer.schedule(new TimerTask() {
        @Override public void run() {
          try {
            s.cancel();
          } catch (SQLException e) {
            System.out.println("cancel: " + e.getMessage());
          }
        }
      }, 300);
      s.execute("SELECT count(*) FROM big a, big b, big c");
      System.out.println("not cancelled");
    } catch (SQLException e) {
      System.out.println("cancelled " + e.getSQLState());
    }
  }

  static void limit(Connection c) throws SQLException {
    try (Statement s = c.createStatement()) {
      int rows = 0;
      try (ResultSet r = s.executeQuery("SELECT id FROM big")) {
        while (r.next()) rows++;
      }
      StringJoiner notices = new StringJoiner("; ");
      for (SQLWarning w = s.getWarnings(); w != null; w = w.getNextWarning()) notices.add(w.getMessage());
      System.out.println("limited " + rows + " " + notices);
      show("after", s.executeQuery("SELECT 4 AS four"));
    }
  }

  static String refusal(PSQLException e) {
    ServerErrorMessage m = e.getServerErrorMessage();
    String detail = m.getDetail() == null ? "" : m.getDetail();
    return (e.getSQLState() + " " + detail.split(" \\(")[0].split("\\.")[0]).trim();
  }

  static void show(String name, ResultSet r) throws SQLException {
    while (r.next()) {
      StringJoiner row = new StringJoiner("|", name + " ", "");
      for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) row.add(String.valueOf(r.getString(i)));
      System.out.println(row);
    }
    r.close();
  }
}
