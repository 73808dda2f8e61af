package strictyaml

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Located is a value together with where it stands.
type Located[T any] struct {
	Value T
	Pos   Pos
}

// DecodeYAML reads the value.
func (l *Located[T]) DecodeYAML(n *Node) {
	l.Pos = n.Pos()
	n.Decode(&l.Value)
}

// Entry is a key of a Map with its value.
type Entry[T any] struct {
	Key   string
	Pos   Pos // of the key
	Value T
}

// Map is a mapping with keys that the file's author chooses, in the file's
// order.
type Map[T any] []Entry[T]

// DecodeYAML reads the mapping.
func (m *Map[T]) DecodeYAML(n *Node) {
	n.Pairs(func(key, value *Node) {
		name, _ := key.Text()
		if name == "" {
			key.Errorf("an empty key")
			return
		}
		e := Entry[T]{Key: name, Pos: key.Pos()}
		if value.Decode(&e.Value) {
			*m = append(*m, e)
		}
	})
}

// Get finds a key.
func (m Map[T]) Get(key string) (*Entry[T], bool) {
	for i := range m {
		if m[i].Key == key {
			return &m[i], true
		}
	}
	return nil, false
}

// Keys lists the keys.
func (m Map[T]) Keys() []string {
	keys := make([]string, len(m))
	for i := range m {
		keys[i] = m[i].Key
	}
	return keys
}

// SecretRef is the name of a secret, written secret:NAME. Whatever else stands
// there is taken for a secret in clear and never repeated.
type SecretRef struct {
	Name string
	Pos  Pos
}

// DecodeYAML reads secret:NAME.
func (s *SecretRef) DecodeYAML(n *Node) {
	text, ok := n.Text()
	name, found := strings.CutPrefix(text, "secret:")
	if !ok || !found || !IsSecretName(name) {
		n.Errorf("a secret in clear text (not repeated here): write secret:NAME, and say under secrets where NAME comes from")
		return
	}
	*s = SecretRef{Name: name, Pos: n.Pos()}
}

// IsSecretName says whether s can be the NAME of secret:NAME.
func IsSecretName(s string) bool {
	if s == "" || len(s) > 63 {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.' {
			return false
		}
	}
	return true
}

// Duration is a span of time such as 250ms, 30s, 5m, 1h30m or 90d.
type Duration time.Duration

// DecodeYAML reads a duration.
func (d *Duration) DecodeYAML(n *Node) {
	text, ok := n.Text()
	v, good := parseDuration(text)
	if !ok || !good {
		n.Want("a duration such as 250ms, 30s, 5m, 1h30m or 90d")
		return
	}
	*d = Duration(v)
}

var durationUnits = []struct {
	name string
	unit time.Duration
}{{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}}

func parseDuration(s string) (time.Duration, bool) {
	var total time.Duration
	last := time.Duration(math.MaxInt64)
	for s != "" {
		value, unit, rest := splitUnit(s)
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return 0, false
		}
		var scale time.Duration
		for _, u := range durationUnits {
			if u.name == unit {
				scale = u.unit
			}
		}
		// units come in falling order, each once
		if scale == 0 || scale >= last || n > int64(math.MaxInt64/2/scale) || total > math.MaxInt64/2 {
			return 0, false
		}
		total, last, s = total+time.Duration(n)*scale, scale, rest
	}
	return total, total > 0
}

// splitUnit splits "5m30s" into "5", "m" and "30s".
func splitUnit(s string) (value, unit, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	j := i
	for j < len(s) && (s[j] < '0' || s[j] > '9') {
		j++
	}
	return s[:i], s[i:j], s[j:]
}

// Size is a number of bytes such as 64KiB, 16MiB or 1GiB.
type Size int64

// DecodeYAML reads a size.
func (z *Size) DecodeYAML(n *Node) {
	text, ok := n.Text()
	value, unit, rest := splitUnit(text)
	scale := map[string]int64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[unit]
	v, err := strconv.ParseInt(value, 10, 64)
	if !ok || err != nil || rest != "" || scale == 0 || v <= 0 || v > math.MaxInt64/scale {
		n.Want("a size such as 64KiB, 16MiB or 1GiB")
		return
	}
	*z = Size(v * scale)
}

// unlimited is the word that switches a limit off. A zero would be too easy to
// write by mistake, and PostgreSQL's own zeros mean "no limit" too.
const unlimited = "unlimited"

// Limit is a bound that can be switched off with the word unlimited. T is
// Count, Size or Duration.
type Limit[T any] struct {
	Value     T
	Unlimited bool
}

// DecodeYAML reads a bound or the word unlimited.
func (l *Limit[T]) DecodeYAML(n *Node) {
	if text, ok := n.Text(); ok && text == unlimited {
		l.Unlimited = true
		return
	}
	n.Decode(&l.Value)
}

// Count is a whole number above zero.
type Count int64

// DecodeYAML reads a whole number above zero.
func (c *Count) DecodeYAML(n *Node) {
	text, ok := n.Number()
	v, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if !ok || err != nil || v <= 0 {
		n.Want("a whole number above zero, or unlimited where a limit may be switched off")
		return
	}
	*c = Count(v)
}
