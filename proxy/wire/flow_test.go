package wire_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/proxy/wire"
)

// player runs a script of message types through a flow: "> P B E S" from the
// client, "< 1 2 C Z" from the server. Qc and Ec may read COPY data; Ds and Dp
// describe a statement and a portal; Zt and Ze carry another status than I.
type player struct {
	flow    *wire.Flow
	ignored string   // types that were to be ignored
	answers []string // what each server message was: "1" answers message 1, "1." for good, "1.(2 3)" and 2 and 3 are lost
}

func newPlayer() *player { return &player{flow: wire.NewFlow('I')} }

func (p *player) play(script string) error {
	server := false
	for _, word := range strings.Fields(script) {
		if word == ">" || word == "<" {
			server = word == "<"
			continue
		}
		var err error
		if server {
			err = p.reply(word)
		} else {
			err = p.send(word)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
	}
	return nil
}

func (p *player) send(word string) error {
	a, err := p.flow.Admit(word[0])
	if err != nil {
		return err
	}
	if a == wire.Ignore {
		p.ignored += word[:1]
		return nil
	}
	e := wire.Entry{Kind: word[0]}
	switch word[1:] {
	case "c":
		e.CopyIn = true
	case "s", "p":
		e.What = word[1] - 'a' + 'A'
	}
	p.flow.Sent(e)
	return nil
}

func (p *player) reply(word string) error {
	var body []byte
	if word[0] == wire.ReadyForQuery {
		body = []byte(strings.ToUpper(word[1:] + "I")[:1])
	}
	r, err := p.flow.Reply(word[0], body)
	if err != nil {
		return err
	}
	answer := "-"
	if r.Entry != nil {
		answer = fmt.Sprint(r.Entry.Number)
	}
	if r.Done {
		answer += "."
	}
	if r.Lost != nil {
		var lost []uint64
		for _, e := range r.Lost {
			lost = append(lost, e.Number)
		}
		answer += strings.NewReplacer("[", "(", "]", ")").Replace(fmt.Sprint(lost))
	}
	p.answers = append(p.answers, answer)
	return nil
}

// The last message of each bad script breaks the protocol and nothing before it
// does; the good one goes on in a way that a server may.
func TestOrder(t *testing.T) {
	for _, c := range []struct{ name, bad, good string }{
		{"a row, but nothing asked", "< D", "> Q < T D"},
		{"a tag, but nothing asked", "< C", "> Q < C"},
		{"ready, but nothing asked", "< Z", "> S < Z"},
		{"ready twice", "> S < Z Z", "> S S < Z Z"},
		{"ready without any answer", "> Q < Z", "> Q < C Z"},
		{"ready in place of an empty answer", "> Q < T C Z Z", "> Q Q < T C Z I Z"},
		{"ready among rows", "> Q < T D Z", "> Q < T D C Z"},
		{"ready before a series is answered", "> P S < Z", "> P S < 1 Z"},
		{"ready while a portal is asked for rows", "> E S < D Z", "> E S < D s Z"},
		{"ready in COPY out", "> Q < H d Z", "> Q < H d c C Z"},
		{"ready while COPY data is read", "> Qc < G Z", "> Qc < G > d c < C Z"},
		{"an unknown status", "> S < Zx", "> S S S < Z Zt Ze"},

		{"a second ParseComplete", "> P < 1 1", "> P P < 1 1"},
		{"ParseComplete for Bind", "> B < 1", "> B < 2"},
		{"BindComplete for Parse", "> P < 2", "> P B < 1 2"},
		{"CloseComplete for Parse", "> P < 3", "> P C < 1 3"},
		{"a row for Parse", "> P < D", "> P E < 1 D"},
		{"a tag for Bind", "> B < C", "> B E < 2 C"},
		{"a tag for Sync", "> S < C", "> E S < C"},
		{"answers out of order", "> P B < 2", "> P B < 1 2"},
		{"ParseComplete for Query", "> Q < 1", "> P Q < 1 C Z"},

		{"a row without a description", "> Q < D", "> Q < T D"},
		{"two descriptions", "> Q < T T", "> Q < T C T"},
		{"a description for Execute", "> E < T", "> Dp E < T D"},
		{"parameters for Query", "> Q < t", "> Ds Q < t n I"},
		{"parameters of a portal", "> Dp < t", "> Ds < t"},
		{"columns of a statement before its parameters", "> Ds < T", "> Ds < t T"},
		{"no columns of a statement before its parameters", "> Ds < n", "> Ds < t n"},
		{"parameters twice", "> Ds < t t", "> Ds Ds < t n t"},
		{"columns twice", "> Dp < T T", "> Dp Dp < T T"},
		{"no columns for Query", "> Q < n", "> Dp < n"},
		{"a suspended Query", "> Q < T D s", "> E < D s"},
		{"rows after the tag", "> E S < D C D", "> E E S < D C D"},
		{"a tag after the suspension", "> E < s C", "> E E < s C"},
		{"an empty answer to Parse", "> P < I", "> E < I"},

		{"ready before a function has answered", "> F < Z", "> F < V Z"},
		{"two answers of a function", "> F < V V", "> F F < V Z V Z"},
		{"a row of a function", "> F < D", "> F < V"},
		{"a function's answer to a Query", "> Q < V", "> F Q < V Z C"},
		{"a function's answer after its error", "> F < E V", "> F < E Z"},

		{"an answer after an error in Query", "> Q < E C", "> Q < E Z"},
		{"rows after an error in Query", "> Q < T D E D", "> Q < T D E Z"},
		{"an answer after an error in a series", "> P B S < E 2", "> P B S < E Z"},
		{"an answer from behind Sync after an error", "> P S P S < E 1", "> P S P S < E Z 1 Z"},

		{"COPY data that nobody asked for", "> Q < d", "> Q < H d"},
		{"an end of COPY data that nobody asked for", "> Q < c", "> Q < H c"},
		{"COPY data among rows", "> E < D H", "> E E < D C H"},
		{"COPY out for Bind", "> B < H", "> E < H"},
		{"rows in COPY out", "> Q < H D", "> Q < H d"},
		{"COPY out twice", "> E < H H", "> E < H d"},
		{"an empty answer after rows", "> E < D I", "> E < D C"},
		{"COPY in twice", "> Qc < G G", "> Qc < G > c < C G"},
		{"COPY in twice by a portal", "> Ec < G G", "> Ec Ec < C G"},
		{"COPY in after rows", "> Ec < D G", "> Qc < T D C G"},
		{"rows in COPY in", "> Qc < G T", "> Qc < G > c < C T"},
		{"rows of a portal in COPY in", "> Ec < G D", "> Ec E < C D"},
		{"COPY in, but nothing asked", "< G", "> Ec < G"},
		{"COPY in by a text that has none", "> Q < G", "> Qc < G"},
		{"COPY in by a portal that has none", "> E < G", "> Ec < G"},
		{"COPY in by another message than the one that has it", "> P Ec < G", "> P Ec < 1 G"},
		{"COPY in with a statement sent behind it", "> Ec P < G", "> Ec c P < G"},
		{"COPY in with a statement sent behind its Sync", "> Ec S Q < G", "> Ec S c Q < G"},
	} {
		t.Run(c.name, func(t *testing.T) {
			last := strings.LastIndexByte(c.bad, ' ')
			if err := newPlayer().play(c.bad[:last]); err != nil {
				t.Errorf("%s: %v", c.bad[:last], err)
			}
			var broken *wire.Violation
			if err := newPlayer().play(c.bad); !errors.As(err, &broken) {
				t.Errorf("%s: %v", c.bad, err)
			}
			if err := newPlayer().play(c.good); err != nil {
				t.Errorf("%s: %v", c.good, err)
			}
		})
	}
}

// Each server message belongs to the client message that it answers.
func TestAnswers(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"two statements in a Query", "> Q < T D C T D C Z", "1 1 1 1 1 1 1."},
		{"a series", "> P B Dp E S < 1 2 T D D C Z", "1. 2. 3. 4 4 4. 5."},
		{"Describe of a statement", "> P Ds S < 1 t T Z", "1. 2 2. 3."},
		{"pages of a portal", "> E E S < D s D C Z", "1 1. 2 2. 3."},
		{"what nobody asked for, at rest", "< N S A E", "- - - -"},
		{"what nobody asked for, on the way", "> Q < N T S A C Z", "1 1 1 1 1 1."},
		{"an error in a Query", "> Q Q < C E Z C Z", "1 1 1. 2 2."},
		{"an error in a series", "> P B E C S P S < 1 E Z 1 Z", "1. 2.(3 4) 5. 6. 7."},
		{"an error at the end of a series", "> P S < E Z", "1.() 2."},
		{"an error takes a Query along", "> P Q Q S < E Z", "1.(2 3) 4."},
		{"an error before Sync is sent", "> P B < E > E S < Z", "1.(2) 3."},
		{"an error in Sync", "> E S Q < C E Z C Z", "1. 2 2. 3 3."},
		{"an error after rows", "> E E S < D E Z", "1 1.(2) 3."},
		{"an error and the end", "> Q < E E", "1 1"},
		{"an error while skipping", "> P < E E", "1.() -"},
		{"functions", "> F F S < V Z E Z Z", "1 1. 2 2. 3."},
		{"an error takes a function along", "> P F S < E Z", "1.(2) 3."},
		{"COPY out", "> Q E S < H d c C Z H d c C Z", "1 1 1 1 1. 2 2 2 2. 3."},
		{"COPY in", "> Qc < G > d d c < C Z", "1 1 1."},
		{"COPY in, data ahead", "> Qc d c Q < G C Z C Z", "1 1 1. 3 3."},
		{"two COPYs in, data ahead", "> Qc d c d f Q < G C G E Z C Z", "1 1 1 1 1. 4 4."},
		{"COPY in that fails before it starts", "> Qc d c Qc c < E Z G C Z", "1 1. 3 3 3."},
		{"COPY in a series", "> Ec H < G > d c S < C Z", "1 1. 2."},
		{"COPY in a series, a failure", "> Ec d c P S < G E Z", "1 1.(3) 4."},
		{"COPY in a series that fails before it starts", "> P B Ec d c S < E Z", "1.(2 3 4) 5."},
		{"a text that may copy, and does not", "> Qc Ec c S < C Z C Z", "1 1. 2. 4."},
		{"Sync ahead of COPY data is ignored", "> Ec S < G > d c S < C Z", "1 1. 3."},
		{"Sync ahead of a COPY that fails in its data", "> Ec S d c S < G E Z", "1 1.() 4."},
		{"Sync ahead of a COPY that fails before it reads", "> Ec S < G E Z > Q < C Z", "1 1.() 2. 3 3."},
		{"two such", "> Ec S S < G E Z Z > Q < C Z", "1 1.() 2. 3. 4 4."},
		{"one of them eaten", "> Ec S S c S < G E Z > Q < C Z", "1 1.() 5. 6 6."},
		{"Sync ahead of a Query's COPY that fails before it reads", "> Qc S c Q < G E Z Z C Z", "1 1 1. 2. 4 4."},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlayer()
			if err := p.play(c.script); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(p.answers, " "); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.script, got, c.want)
			}
		})
	}
}

// A Sync that COPY has eaten is answered at most once, and only if the COPY
// failed and nothing else was answered since.
func TestEatenSync(t *testing.T) {
	for bad, good := range map[string]string{
		"> Ec S < G Z":                      "> Ec S < G E Z",
		"> Ec S < G E Z Z":                  "> Ec S S < G E Z Z",
		"> Ec S < G > c < C Z":              "> Ec S < G > c S < C Z",
		"> Ec S c S P < G E Z 1 Z":          "> Ec S c S P < G E Z Z 1",
		"> Ec S c S < G E Z > Q < C Z Z":    "> Ec S c S < G E Z > Q < Z C Z",
		"> Ec S c S Qc < G E Z G Z > c < C": "> Ec S c S Qc < G E Z Z G > c < C",
	} {
		if err := newPlayer().play(bad); err == nil {
			t.Errorf("%s passed", bad)
		}
		if err := newPlayer().play(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// What the server passes over is not sent.
func TestIgnored(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"COPY data at rest", "> d c f", "dcf"},
		{"COPY data in a series without COPY", "> P B E d c f", "dcf"},
		{"COPY data that may be wanted", "> Qc d c d c f Ec d c", ""},
		{"COPY data after the statement that may want it", "> Qc d c < C Z > d c", "dc"},
		{"COPY data that is wanted", "> Qc < G > d d c", ""},
		{"COPY data after the end", "> Ec S < G > d c d f", ""},
		{"COPY data after a failure in a series", "> Ec < G > d < E > d c", "dc"},
		{"COPY data after a failure in a Query", "> Qc < G > d < E Z > d c", "dc"},
		{"Sync and Flush in COPY", "> Qc < G > S H d S c S", "SHS"},
		{"Sync and Flush after COPY", "> Qc < G > c S H", ""},
		{"everything up to Sync after an error", "> P < E > P B Ds E C Q F H d c f S P d", "PBDECQFHdcfd"},
		{"nothing after an error before a Sync that is sent", "> P S < E > P Q", ""},
		{"nothing after an error in a Query", "> Q < E > P Q", ""},
		{"everything up to Sync after an error in answer to Flush", "> P H < 1 E > P B E Q S Q", "PBEQ"},
		{"nothing after an error at rest", "> P S < 1 Z E > P Q", ""},
		{"Terminate never", "> P < E > X", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlayer()
			if err := p.play(c.script); err != nil || p.ignored != c.want {
				t.Errorf("%s: ignored %q, not %q, %v", c.script, p.ignored, c.want, err)
			}
		})
	}
}

// In COPY FROM STDIN a client may send its data and little else: the server
// ends the session, since it can't tell where the next message starts.
func TestIllegalInCopy(t *testing.T) {
	for _, kind := range "QPBDECF" {
		if err := newPlayer().play("> Qc < G > " + string(kind)); err == nil {
			t.Errorf("%c passed in COPY", kind)
		}
	}
	for _, kind := range "dcfSHX" {
		if err := newPlayer().play("> Qc < G > " + string(kind)); err != nil {
			t.Errorf("%c in COPY: %v", kind, err)
		}
	}
}

func TestState(t *testing.T) {
	for _, c := range []struct {
		script            string
		pending           int
		oldest            byte // 0: none
		status            byte
		rest, skips, copy bool
	}{
		{"", 0, 0, 'I', true, false, false},
		{"> Q", 1, 'Q', 'I', false, false, false},
		{"> Q < C Zt", 0, 0, 'T', true, false, false},
		{"> Q < C Zt > Q < E Ze", 0, 0, 'E', true, false, false},
		{"> Q Q < C Zt", 1, 'Q', 'T', false, false, false},
		{"> P B H", 2, 'P', 'I', false, false, false},
		{"> P B H < 1 2", 0, 0, 'I', false, false, false},
		{"> P B H < 1 2 > S", 1, 'S', 'I', false, false, false},
		{"> P B H < 1 2 > S < Z", 0, 0, 'I', true, false, false},
		{"> P B < E", 0, 0, 'I', false, true, false},
		{"> P B < E > S", 1, 'S', 'I', false, false, false},
		{"> P B < E > S < Z", 0, 0, 'I', true, false, false},
		{"> P B S Q < E", 2, 'S', 'I', false, false, false},
		{"> Qc < G", 1, 'Q', 'I', false, false, true},
		{"> Qc < G > d", 1, 'Q', 'I', false, false, true},
		{"> Qc < G > d c", 1, 'Q', 'I', false, false, false},
		{"> Qc d c < G", 1, 'Q', 'I', false, false, false},
		{"> Qc d c < E Z", 0, 0, 'I', true, false, false},
		{"> Ec < G > f S", 2, 'E', 'I', false, false, false},
		{"> Ec < G E", 0, 0, 'I', false, true, false},
		{"> Ec S < G E", 0, 0, 'I', false, true, false},
		{"> Ec S < G E Z", 0, 0, 'I', true, false, false},
		{"> d c f", 0, 0, 'I', true, false, false},
		{"> X", 0, 0, 'I', true, false, false},
		// whether the Sync that COPY may have eaten is answered shows in what comes next
		{"> Ec S c S < G E Z", 0, 0, 'I', false, false, false},
		{"> Ec S c S < G E Z Z", 0, 0, 'I', true, false, false},
		{"> Ec S c S < G E Z > Q < E Z", 0, 0, 'I', true, false, false},
		{"> Qc S c < G E Z > Q < C Z", 0, 0, 'I', true, false, false},
		{"< E", 0, 0, 'I', true, false, false},
	} {
		p := newPlayer()
		if err := p.play(c.script); err != nil {
			t.Errorf("%s: %v", c.script, err)
			continue
		}
		f := p.flow
		oldest := byte(0)
		if e := f.Oldest(); e != nil {
			oldest = e.Kind
		}
		if f.Pending() != c.pending || oldest != c.oldest || f.Status() != c.status || f.AtRest() != c.rest || f.Skipping() != c.skips || f.Copying() != c.copy {
			t.Errorf("%s: pending %d, oldest %q, status %c, at rest %t, skipping %t, copying %t",
				c.script, f.Pending(), oldest, f.Status(), f.AtRest(), f.Skipping(), f.Copying())
		}
	}
}

// SkipToSync can stand for an error only where none of the messages that it
// takes away was sent.
func TestSkipToSync(t *testing.T) {
	for _, c := range []struct {
		before  string
		want    bool
		after   string
		ignored string
	}{
		{"> P B E H < 1 2 C", true, "> B E S B", "BE"},
		{"> P B E S < 1 2 C", true, "> B E S B", ""},
		{"> P B E S P < 1 2 C", true, "< Z 1", ""},
		{"> P B E B E < 1 2 C", false, "> B", ""},
		{"> P B E Q < 1 2 C", false, "> B", ""},
	} {
		p := newPlayer()
		if err := p.play(c.before); err != nil {
			t.Errorf("%s: %v", c.before, err)
		}
		if got := p.flow.SkipToSync(); got != c.want {
			t.Errorf("%s: %t", c.before, got)
		}
		if err := p.play(c.after); err != nil || p.ignored != c.ignored {
			t.Errorf("%s, then %s: ignored %q, %v", c.before, c.after, p.ignored, err)
		}
	}
}

// What the driver said of a message comes back with its answers, and what it
// said of a lost one with the error.
func TestEntriesComeBack(t *testing.T) {
	f := wire.NewFlow('T')
	if f.Status() != 'T' {
		t.Errorf("it starts with %c", f.Status())
	}
	for i, kind := range []byte("PBES") {
		if n := f.Sent(wire.Entry{Kind: kind, Note: i, Internal: i == 1}); n != uint64(i+1) {
			t.Errorf("message %d has number %d", i+1, n)
		}
	}
	r, err := f.Reply('1', nil)
	if err != nil || r.Entry.Note != 0 || r.Entry.Internal || r.Lost != nil {
		t.Errorf("got %+v, %v", r, err)
	}
	r, err = f.Reply('E', nil)
	if err != nil || r.Entry.Note != 1 || !r.Entry.Internal || len(r.Lost) != 1 || r.Lost[0].Note != 2 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Of a Query, the number of finished statements says which one is answered.
func TestIndex(t *testing.T) {
	f := wire.NewFlow('I')
	f.Sent(wire.Entry{Kind: 'Q'})
	var got []int
	for _, kind := range []byte("TDCCHdcCIE") {
		r, err := f.Reply(kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Entry.Index)
	}
	if want := []int{0, 0, 1, 2, 2, 2, 2, 3, 4, 4}; !slices.Equal(got, want) {
		t.Errorf("got %v, not %v", got, want)
	}
}

// A long pipeline keeps its order while it is answered, and the flow does not
// grow with the session.
func TestLongPipeline(t *testing.T) {
	f := wire.NewFlow('I')
	const ahead, rounds = 5000, 20
	for i := range ahead {
		f.Sent(wire.Entry{Kind: 'C', Note: i})
	}
	for i := range ahead * rounds {
		r, err := f.Reply('3', nil)
		if err != nil || r.Entry.Note != i || r.Entry.Number != uint64(i+1) || !r.Done {
			t.Fatalf("answer %d belongs to %+v, %v", i, r.Entry, err)
		}
		f.Sent(wire.Entry{Kind: 'C', Note: ahead + i})
		if f.Pending() != ahead {
			t.Fatalf("%d are pending", f.Pending())
		}
	}
	if n := testing.AllocsPerRun(10_000, func() {
		if _, err := f.Reply('3', nil); err != nil {
			t.Fatal(err)
		}
		f.Sent(wire.Entry{Kind: 'C'})
	}); n != 0 {
		t.Errorf("%v allocations a message", n)
	}
}
