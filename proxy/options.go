package proxy

import (
	"fmt"
	"slices"
	"strings"
)

// startup is what a client asks for in its StartupMessage.
type startup struct {
	user, database string
	settings       []setting // that take effect, from options and from parameters
	switches       []setting // from options
	minor          int       // protocol minor version asked for
	unknown        []string  // protocol extensions (_pq_.…) asked for
}

// setting is a configuration parameter given at start-up. Names are lower case.
type setting struct{ name, value string }

// parseStartup reads the parameters of a StartupMessage: name and value, each
// ended by a zero byte, and a final zero byte. Names are compared without case,
// as the server compares settings; a name given twice is refused, since the
// server would take the last and a reader the first. What options say as well
// does not count: a parameter wins over a switch, and a later switch over an
// earlier one (postinit.c, process_startup_options).
func parseStartup(body []byte) (startup, *refusedStartup) {
	var s startup
	seen := map[string]bool{}
	for {
		name, rest, ok := cutString(body)
		if !ok {
			return s, badStartup("08P01", "invalid startup packet layout: expected terminator as last byte")
		}
		if name == "" {
			if len(rest) != 0 {
				return s, badStartup("08P01", "invalid startup packet layout: expected terminator as last byte")
			}
			break
		}
		value, rest, ok := cutString(rest)
		if !ok {
			return s, badStartup("08P01", "invalid startup packet layout: expected terminator as last byte")
		}
		body = rest
		if refused := s.parameter(name, value, seen); refused != nil {
			return s, refused
		}
	}
	s.settings = effective(s.switches, s.settings)
	if s.user == "" {
		return s, badStartup("28000", "no PostgreSQL user name specified in startup packet")
	}
	if s.database == "" {
		s.database = s.user
	}
	return s, nil
}

func (s *startup) parameter(name, value string, seen map[string]bool) *refusedStartup {
	key := strings.ToLower(name)
	if seen[key] {
		return badStartup("42501", fmt.Sprintf("startup parameter %q is given twice", name))
	}
	seen[key] = true
	switch {
	case key == "user":
		s.user = value
	case key == "database":
		s.database = value
	case key == "replication":
		return &refusedStartup{sqlstate: "42501", message: `startup parameter "replication" is not allowed`,
			hint: "Connect without it: replication commands never pass through pgairlock."}
	case key == "options":
		return s.options(value)
	case strings.HasPrefix(key, "_pq_."):
		s.unknown = append(s.unknown, name)
	default:
		s.settings = append(s.settings, setting{key, value})
	}
	return nil
}

// options reads the command-line switches in the parameter "options": -c
// name=value and --name=value (postgres.c, process_postgres_switches). Others
// are refused.
func (s *startup) options(text string) *refusedStartup {
	words := splitOptions(text)
	for i := 0; i < len(words); i++ {
		word := words[i]
		var assignment string
		switch {
		case word == "-c" && i+1 < len(words):
			i++
			assignment = words[i]
		case strings.HasPrefix(word, "-c") && len(word) > 2:
			assignment = word[2:]
		case strings.HasPrefix(word, "--") && len(word) > 2:
			assignment = word[2:]
		default:
			return badStartup("42501", fmt.Sprintf(`startup parameter "options" holds the switch %q: only -c name=value and --name=value are allowed`, word))
		}
		name, value, ok := strings.Cut(assignment, "=")
		if !ok {
			return badStartup("42601", fmt.Sprintf(`startup parameter "options": %q has no value`, assignment))
		}
		// the server takes - for _ in the names of switches (guc.c, ParseLongOption)
		key := strings.ToLower(strings.ReplaceAll(name, "-", "_"))
		s.switches = append(s.switches, setting{key, value})
	}
	return nil
}

// effective are the switches and parameters that no later one overrides, in the
// server's order.
func effective(switches, parameters []setting) []setting {
	var last []setting
	overridden := map[string]bool{}
	for _, s := range slices.Backward(append(slices.Clone(switches), parameters...)) {
		if !overridden[s.name] {
			overridden[s.name] = true
			last = append(last, s)
		}
	}
	slices.Reverse(last)
	return last
}

// splitOptions splits at white space; a backslash takes the next character as
// it is (postinit.c, pg_split_opts).
func splitOptions(text string) []string {
	var words []string
	var word strings.Builder
	inWord, escaped := false, false
	for _, b := range []byte(text) {
		space := b == ' ' || b == '\t' || b == '\n' || b == '\v' || b == '\f' || b == '\r'
		switch {
		case space && !escaped:
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case b == '\\' && !escaped:
			escaped, inWord = true, true
			continue
		default:
			inWord = true
			word.WriteByte(b)
		}
		escaped = false
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// refusedStartup is why a connection can't begin.
type refusedStartup struct{ sqlstate, message, hint string }

func badStartup(sqlstate, message string) *refusedStartup {
	return &refusedStartup{sqlstate: sqlstate, message: message}
}

func cutString(b []byte) (string, []byte, bool) {
	for i, c := range b {
		if c == 0 {
			return string(b[:i]), b[i+1:], true
		}
	}
	return "", nil, false
}
