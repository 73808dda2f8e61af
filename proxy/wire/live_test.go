package wire_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/pgtest"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

const (
	liveSequences = 300
	liveSeed      = 20261201
	liveLimit     = time.Minute // for all sequences
)

// TestFlowAgainstServer plays random sequences of messages, with whatever errors
// come of them, to a real server twice. First each message alone, waiting for
// its answers, so that it is known without a flow which answers are whose. Then
// the same as a pipeline, read in random portions: the flow has to find for each
// answer the message that was seen to get it.
func TestFlowAgainstServer(t *testing.T) {
	options := pgtest.Options{Setup: liveSetup}
	alone, piped := dialLive(t, pgtest.Start(t, options).DSN()), dialLive(t, pgtest.Start(t, options).DSN())
	seen := map[string]int{}
	for seed := range uint64(liveSequences) {
		r := rand.New(rand.NewPCG(liveSeed, seed))
		steps := newGenerator(r).sequence()
		expected, err := alone.oneByOne(steps)
		if err != nil {
			t.Fatalf("seed %d, alone: %v\n%s", seed, err, describe(steps))
		}
		if err := piped.pipeline(r, steps, expected, seen); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, describe(steps))
		}
	}
	t.Log(seen)
	// the sequences must be worth the name
	for _, what := range []string{"lost", "ignored", "1", "2", "3", "C", "D", "E", "G", "H", "I", "N", "T", "V", "Z", "c", "d", "n", "s", "t"} {
		if seen[what] < 20 {
			t.Errorf("%q came only %d times", what, seen[what])
		}
	}
}

// step is a client message of a sequence.
type step struct {
	text    string // as in a recording
	raw     []byte
	kind    byte
	after   int  // how many answers have come once it has been played alone
	flushes bool // they come without anything more being sent
}

// answer is a server message, and the step that got it.
type answer struct {
	kind byte
	step int
}

func describe(steps []step) string {
	var out strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&out, "%d %s\n", i, s.text)
	}
	return out.String()
}

// Statements that work at any time, and statements that fail, or do at certain
// moments, or change what the following ones come to.
var (
	plainTexts = []string{
		"SELECT 'k'", "SELECT i FROM generate_series(1, 5) i", "VALUES (1), (2)", "EXPLAIN SELECT 1", "", "-- nothing", "SELECT 1 WHERE false",
		"INSERT INTO w VALUES (1, 'x') RETURNING a", "UPDATE w SET b = 'y'", "DROP TABLE IF EXISTS x", "SET application_name = 'live'", "RESET ALL",
		"DO $$ BEGIN RAISE NOTICE 'n'; END $$", "LISTEN l", "NOTIFY l", "COPY w TO STDOUT", "COPY w FROM STDIN", "COPY w (a) FROM STDIN",
	}
	oddTexts = []string{
		"SELECT $1::int + 1", "SELECT 1/(3-i) FROM generate_series(1, 5) i", "SELEC 1", "SELECT nowhere", "INSERT INTO u VALUES (1)",
		"CREATE TEMP TABLE x (i int)", "BEGIN", "BEGIN", "COMMIT", "ROLLBACK", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s",
		"DECLARE cur CURSOR FOR VALUES (1), (2), (3)", "FETCH 2 FROM cur", "DEALLOCATE ALL", "DISCARD ALL",
		"COPY (SELECT 1/(3-i) FROM generate_series(1, 5) i) TO STDOUT", "COPY v FROM STDIN", "COPY nowhere FROM STDIN",
	}
)

// liveSetup makes what the texts speak of.
const liveSetup = `
CREATE TABLE w (a int, b text);
CREATE TABLE u (id int UNIQUE DEFERRABLE INITIALLY DEFERRED);
CREATE VIEW v AS SELECT * FROM w;`

// liveReset makes a session and its tables as new.
var liveReset = []string{"ROLLBACK", "DISCARD ALL", "DELETE FROM w; DELETE FROM u"}

// generator makes sequences of messages.
type generator struct {
	*rand.Rand
	steps      []step
	statements map[string]bool // names that may stand for a COPY FROM STDIN
	portals    map[string]bool
}

func newGenerator(r *rand.Rand) *generator {
	return &generator{Rand: r, statements: map[string]bool{}, portals: map[string]bool{}}
}

func (g *generator) sequence() []step {
	for range 3 + g.IntN(25) {
		switch n := g.IntN(20); {
		case n < 8:
			g.series()
		case n < 11:
			g.query()
		case n == 11 && g.IntN(2) == 0: // int4pl, and no function
			g.add(pick(g, `FunctionCall 177 () ("1" "2") 0`, `FunctionCall 177 () ("1" "2") 0`, `FunctionCall 1 () () 0`))
		case n < 14:
			g.add("Sync")
		case n < 17:
			g.add("Flush")
		case n < 18:
			g.add(pick(g, `CopyData "stray"`, "CopyDone", `CopyFail "stray"`))
		default:
			g.one()
		}
	}
	g.add("Sync")
	g.add(`Query "SELECT 'all is well'"`)
	return g.steps
}

func pick(g *generator, of ...string) string { return of[g.IntN(len(of))] }

func (g *generator) sql() string {
	if g.IntN(3) == 0 {
		return pick(g, oddTexts...)
	}
	return pick(g, plainTexts...)
}

func (g *generator) add(text string) {
	raw := message(text)
	g.steps = append(g.steps, step{text: text, raw: raw, kind: raw[0]})
}

// series sends a statement by all its steps, mostly.
func (g *generator) series() {
	statement, portal := pick(g, "", "", "", "s1", "s2"), pick(g, "", "", "", "p1", "p2")
	if statement != "" && g.IntN(2) == 0 {
		g.add(fmt.Sprintf("Close S %q", statement))
	}
	g.parse(statement)
	if g.IntN(3) == 0 {
		g.add(fmt.Sprintf("Describe S %q", statement))
	}
	g.bind(portal, statement)
	if g.IntN(2) == 0 {
		g.add(fmt.Sprintf("Describe P %q", portal))
	}
	g.execute(portal)
	if g.IntN(2) == 0 {
		g.add("Sync")
	}
}

// one sends any message of the extended protocol, whether it makes sense or not.
func (g *generator) one() {
	statement, portal := pick(g, "", "s1", "s2", "s3"), pick(g, "", "p1", "p2", "p3")
	switch g.IntN(7) {
	case 0:
		g.parse(statement)
	case 1:
		g.bind(portal, statement)
	case 2:
		g.add(fmt.Sprintf("Describe S %q", statement))
	case 3:
		g.add(fmt.Sprintf("Describe P %q", portal))
	case 4:
		g.add(fmt.Sprintf("Close S %q", statement))
	case 5:
		g.add(fmt.Sprintf("Close P %q", portal))
	case 6:
		g.execute(portal)
	}
}

func (g *generator) parse(name string) {
	text := g.sql()
	g.statements[name] = g.statements[name] || readsCopy([]byte(text))
	g.add(fmt.Sprintf("Parse %q %q ()", name, text))
}

func (g *generator) bind(portal, statement string) {
	g.portals[portal] = g.portals[portal] || g.statements[statement]
	values, formats := "()", pick(g, "()", "(0)")
	if g.IntN(6) == 0 { // mostly too many values or formats
		values, formats = pick(g, "()", `("7")`, `("x")`), pick(g, "(1)", "(7)")
	}
	g.add(fmt.Sprintf("Bind %q %q () %s %s", portal, statement, values, formats))
}

func (g *generator) execute(portal string) {
	g.add(fmt.Sprintf("Execute %q %d", portal, max(0, g.IntN(6)-3)))
	if g.portals[portal] {
		g.copyData(true)
	}
}

func (g *generator) query() {
	var texts []string
	for range 1 + g.IntN(3)*g.IntN(2) {
		texts = append(texts, g.sql())
	}
	g.add(fmt.Sprintf("Query %q", strings.Join(texts, ";\n")))
	for _, text := range texts {
		if readsCopy([]byte(text)) {
			g.copyData(!strings.Contains(strings.Join(texts, ""), "COPY v"))
		}
	}
}

// copyData sends data, good or bad, to its end. A Sync or Flush may stand in it,
// if a COPY could not have failed by then.
func (g *generator) copyData(reads bool) {
	for i := range g.IntN(4) {
		if reads && i == 0 && g.IntN(4) == 0 && !g.mayFailUnread() {
			g.add(pick(g, "Sync", "Flush"))
		}
		g.add(fmt.Sprintf("CopyData %q", pick(g, "1\tone\n", "2\ttwo\n3\t\\N\n", "4\tfo", "x\tbad\n", "")))
	}
	g.add(pick(g, "CopyDone", "CopyDone", `CopyFail "no"`))
}

// mayFailUnread says whether a COPY into the view has been prepared: it fails
// before it reads anything, and whether a Sync sent ahead of its data is answered
// is seen by the server alone.
func (g *generator) mayFailUnread() bool {
	return slices.ContainsFunc(g.steps, func(s step) bool { return s.kind == wire.Parse && strings.Contains(s.text, "COPY v") })
}

// live is a raw connection to the server.
type live struct {
	conn net.Conn
}

func dialLive(t *testing.T, dsn string) *live {
	t.Helper()
	conn, err := hijack(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(liveLimit)); err != nil {
		t.Fatal(err)
	}
	return &live{conn: conn}
}

// reset makes the session as new.
func (l *live) reset() error {
	for _, text := range liveReset {
		if err := l.send(message(fmt.Sprintf("Query %q", text))); err != nil {
			return err
		}
		if err := await(l.conn, "ReadyForQuery"); err != nil {
			return err
		}
	}
	return nil
}

func (l *live) send(raw []byte) error {
	_, err := l.conn.Write(raw)
	return err
}

// unasked says whether a server message may come at any time.
func unasked(kind byte) bool {
	return kind == wire.ParameterStatus || kind == wire.NotificationResponse
}

// oneByOne sends each step alone and returns all answers in their order.
func (l *live) oneByOne(steps []step) ([]answer, error) {
	if err := l.reset(); err != nil {
		return nil, err
	}
	var all []answer
	copying, skipping := -1, false // the step that reads COPY data
	for i := range steps {
		s := &steps[i]
		ends, owner := "", i
		switch s.kind {
		case wire.Flush, wire.CopyData:
		case wire.CopyDone, wire.CopyFail:
			if copying < 0 {
				break
			}
			owner, copying, ends = copying, -1, "CE"
			if steps[owner].kind == wire.Query {
				ends = "ZG"
			}
		case wire.Sync:
			if copying < 0 {
				skipping, ends = false, "Z"
			}
		default:
			switch {
			case skipping:
			case s.kind == wire.Query || s.kind == wire.FunctionCall:
				ends = "ZG"
			case s.kind == wire.Execute:
				ends = "CEIsG"
			default:
				ends = "fence"
			}
		}
		answers, err := l.ask(s, ends)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		for _, kind := range answers {
			all = append(all, answer{kind, owner})
			switch kind {
			case wire.CopyInResponse:
				copying = owner
			case wire.ErrorResponse:
				skipping = strings.IndexByte("QFS", steps[owner].kind) < 0
			}
		}
		s.after = len(all)
		// the server holds back what it has to say until Flush, Sync, the end of a
		// Query, or the start of COPY data
		n := len(answers)
		s.flushes = s.kind == wire.Flush || n > 0 && (answers[n-1] == wire.ReadyForQuery || answers[n-1] == wire.CopyInResponse)
	}
	return all, nil
}

// ask sends a step and reads until a message of one of the types in ends. Where
// it isn't said which ones they are, a Close of nothing is sent behind as a
// fence: what comes before its CloseComplete answers the step.
func (l *live) ask(s *step, ends string) ([]byte, error) {
	out := slices.Clone(s.raw)
	fences := 0
	switch {
	case ends == "fence":
		out = append(append(out, message(`Close S "no such statement"`)...), message("Flush")...)
		fences = 1
		if s.kind == wire.Close {
			fences = 2
		}
		ends = "E"
	case ends != "" && strings.IndexByte("QFS", s.kind) < 0:
		out = append(out, message("Flush")...)
	}
	if err := l.send(out); err != nil || ends == "" {
		return nil, err
	}
	var kinds []byte
	for {
		packet, err := readPacket(l.conn, 1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.text, err)
		}
		kind := packet[0]
		if unasked(kind) {
			continue
		}
		if kind == wire.CloseComplete {
			if fences--; fences == 0 {
				return kinds, nil
			}
		}
		kinds = append(kinds, kind)
		if strings.IndexByte(ends, kind) >= 0 {
			return kinds, nil
		}
	}
}

// pipeline sends the steps without waiting for more than the generator's luck
// has it, and holds what the flow says against the expected answers.
func (l *live) pipeline(r *rand.Rand, steps []step, expected []answer, seen map[string]int) error {
	if err := l.reset(); err != nil {
		return err
	}
	p := &piped{live: l, middle: newMiddle(), steps: steps, expected: expected, fate: make([]string, len(steps)), number: map[uint64]int{}, seen: seen}
	certain := 0 // answers that must come without anything more being sent
	for i := range steps {
		if err := p.send(i); err != nil {
			return err
		}
		if steps[i].flushes {
			certain = steps[i].after
		}
		if certain > p.read && r.IntN(3) == 0 {
			if err := p.receive(p.read + 1 + r.IntN(certain-p.read)); err != nil {
				return err
			}
		}
	}
	if err := p.receive(len(expected)); err != nil {
		return err
	}
	return p.end()
}

// piped is a sequence on its way.
type piped struct {
	*live
	*middle
	steps    []step
	expected []answer
	read     int            // answers that have come
	fate     []string       // of each step: done, lost, ignored, or "" while it waits
	number   map[uint64]int // the flow's numbers, and their steps
	seen     map[string]int
}

// send sends a step, even where the flow says that the server would pass it over.
func (p *piped) send(i int) error {
	outcomes, err := p.feed(false, p.steps[i].raw)
	if err != nil {
		return fmt.Errorf("step %d: %w", i, err)
	}
	o := outcomes[0]
	if o.ignore {
		p.fate[i] = "ignored"
		p.seen["ignored"]++
	}
	if o.number > 0 {
		p.number[o.number] = i
	}
	return p.live.send(p.steps[i].raw)
}

// receive reads until that many answers have come.
func (p *piped) receive(until int) error {
	for p.read < until {
		packet, err := readPacket(p.conn, 1)
		if err != nil {
			return fmt.Errorf("answer %d of %d: %w", p.read, len(p.expected), err)
		}
		outcomes, err := p.feed(true, packet)
		if err != nil {
			return fmt.Errorf("answer %d of %d: %w", p.read, len(p.expected), err)
		}
		if unasked(packet[0]) {
			continue
		}
		if err := p.check(outcomes[0]); err != nil {
			return err
		}
		p.read++
	}
	return nil
}

// check holds one answer against what was expected.
func (p *piped) check(o outcome) error {
	p.seen[string(o.kind)]++
	want := p.expected[p.read]
	got, known := p.number[o.number]
	if !known || got != want.step || o.kind != want.kind {
		return fmt.Errorf("answer %d is %q and attributed to step %d, not %q to step %d", p.read, o.kind, got, want.kind, want.step)
	}
	rest := p.expected[p.read+1:]
	last := !slices.ContainsFunc(rest, func(a answer) bool { return a.step == want.step })
	if o.done != last {
		return fmt.Errorf("answer %d, %q: it is said to be the last of step %d: %t", p.read, o.kind, want.step, o.done)
	}
	if o.done {
		if p.fate[got] != "" {
			return fmt.Errorf("step %d is answered, and was %s", got, p.fate[got])
		}
		p.fate[got] = "done"
	}
	for _, number := range o.lost {
		step := p.number[number]
		if p.fate[step] != "" || slices.ContainsFunc(p.expected, func(a answer) bool { return a.step == step }) {
			return fmt.Errorf("step %d is said to be lost", step)
		}
		p.fate[step] = "lost"
		p.seen["lost"]++
	}
	return nil
}

// end looks at the state after a sequence.
func (p *piped) end() error {
	f := p.flow
	if f.Pending() != 0 || !f.AtRest() || f.Copying() || f.Skipping() {
		return fmt.Errorf("at the end %d are pending, at rest %t, copying %t, skipping %t", f.Pending(), f.AtRest(), f.Copying(), f.Skipping())
	}
	for i, s := range p.steps {
		if p.fate[i] == "" && strings.IndexByte("QFPBDEC", s.kind) >= 0 {
			return fmt.Errorf("nobody knows what became of step %d", i)
		}
	}
	return nil
}
