package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgairlock/pgairlock/internal/strictyaml"
)

// settingClass says what an agent may do with a configuration parameter; see
// settings.tsv.
type settingClass string

const (
	settingFree     settingClass = "free"
	settingTighter  settingClass = "tighter"
	settingPinned   settingClass = "pinned"
	settingReadOnly settingClass = "readonly"
	settingLexer    settingClass = "lexer"
	settingGuard    settingClass = "guard"
)

// hard says whether every agent is held to the class, observed ones too.
func (c settingClass) hard() bool { return c == settingLexer || c == settingGuard }

type settingEntry struct {
	class  settingClass
	values string
	hidden bool
	reason string
}

func (ref *reference) readSetting(f []string) error {
	e := settingEntry{settingClass(f[1]), f[2], f[3] == "hidden", f[4]}
	switch e.class {
	case settingFree, settingTighter, settingPinned, settingReadOnly, settingLexer, settingGuard:
	default:
		return fmt.Errorf("unknown class %q", f[1])
	}
	if !e.hidden && f[3] != "shown" {
		return fmt.Errorf("unknown visibility %q", f[3])
	}
	ref.settings[f[0]] = e
	return nil
}

// StartupSetting judges a configuration parameter of a startup message (or of
// its options) as SET would be judged. name is compared without regard to case.
// ok is false if the session must be refused; the reason tells why.
func (a *Agent) StartupSetting(name, value string) (why Reason, ok bool) {
	use := SettingUse{Name: strings.ToLower(name), Op: SetSession, Value: value, Literal: true, Pos: -1}
	r := a.setting(&use)
	if r == nil || a.UnsafePassthrough || a.Access == Observe && !r.hard {
		return Reason{}, true
	}
	return r.reason(true), false
}

// refusal is a reason to deny that has not been weighed against the agent's
// access yet.
type refusal struct {
	rule, state, message, hint string
	pos                        int
	hard                       bool // also for observed agents
	soft                       bool // an error that the server itself would answer with
}

func (r *refusal) reason(enforced bool) Reason {
	return Reason{Rule: r.rule, Verdict: Deny, Enforced: enforced, SQLSTATE: r.state,
		Message: r.message, Hint: r.hint, Pos: r.pos}
}

const (
	stateDenied    = "42501" // insufficient_privilege
	stateReadOnly  = "25006" // read_only_sql_transaction
	stateUndefined = "42704" // undefined_object
)

// setting judges one use of a configuration parameter. nil: it may pass.
func (a *Agent) setting(u *SettingUse) *refusal {
	switch u.Op {
	case ResetAll:
		return nil
	case ShowAll:
		return &refusal{rule: "setting", state: stateDenied, pos: u.Pos,
			message: "SHOW ALL would show how the server is set up",
			hint:    "SHOW the parameter you need by its name."}
	case ShowOne:
		return a.show(u)
	}
	return a.change(u)
}

func (a *Agent) show(u *SettingUse) *refusal {
	if strings.HasPrefix(u.Name, "pgairlock.") || a.settings[u.Name] {
		return nil
	}
	e, known := a.ref.settings[u.Name]
	switch {
	case known && !e.hidden:
		return nil
	case known:
		return &refusal{rule: "setting", state: stateDenied, pos: u.Pos,
			message: fmt.Sprintf("parameter %q is not shown: it tells how the server is set up", u.Name)}
	case strings.Contains(u.Name, "."):
		return &refusal{rule: "setting", state: stateDenied, pos: u.Pos,
			message: fmt.Sprintf("parameter %q is not shown: it is not the server's own and may hold secrets", u.Name),
			hint:    "A policy can open it under settings: {free: […]}."}
	}
	return a.unknownSetting(u)
}

func (a *Agent) unknownSetting(u *SettingUse) *refusal {
	r := &refusal{rule: "setting", state: stateUndefined, pos: u.Pos,
		message: fmt.Sprintf("unrecognized configuration parameter %q", u.Name)}
	if near, ok := strictyaml.Nearest(u.Name, slices.Collect(maps.Keys(a.ref.settings))); ok {
		r.hint = "Did you mean " + near + "?"
	}
	return r
}

// change judges SET and RESET of one parameter.
func (a *Agent) change(u *SettingUse) *refusal {
	e, known := a.ref.settings[u.Name]
	if a.settings[u.Name] {
		return nil
	}
	if !known {
		if strings.Contains(u.Name, ".") {
			return &refusal{rule: "setting", state: stateDenied, pos: u.Pos,
				message: fmt.Sprintf("parameter %q may not be set: row policies and functions may trust it", u.Name),
				hint:    "A policy can open it under settings: {free: […]}."}
		}
		return a.unknownSetting(u)
	}
	if e.class == settingReadOnly && a.Access != ReadOnly {
		return nil
	}
	if u.Op == Reset || u.Default {
		// The value of the session's start is one that was pinned or judged then.
		if e.class == settingTighter {
			return a.refuseSetting(u, e)
		}
		return nil
	}
	if e.values == "any" || u.Literal && a.acceptsValue(u, e) {
		return nil
	}
	return a.refuseSetting(u, e)
}

func (a *Agent) refuseSetting(u *SettingUse, e settingEntry) *refusal {
	r := &refusal{rule: "setting", state: stateDenied, pos: u.Pos, hard: e.class.hard(),
		message: fmt.Sprintf("parameter %q may not be set to that value: %s", u.Name, e.reason)}
	switch {
	case e.class == settingReadOnly:
		r.rule, r.state = "read-only", stateReadOnly
		r.message = fmt.Sprintf("%s can't be switched off: agent %q only reads", u.Name, a.Name)
		r.hint = "Leave the transaction read only."
	case e.class == settingGuard:
		r.rule = "red-line"
	case e.values == "path":
		r.rule = "search-path"
		r.message = fmt.Sprintf("search_path may only name schemas of agent %q", a.Name)
		r.hint = "Its schemas are " + strings.Join(a.SearchPath, ", ") + "; write other tables with their schema."
		return r
	}
	if r.hint == "" {
		r.hint = a.settingHint(u.Name, e)
	}
	return r
}

func (a *Agent) settingHint(name string, e settingEntry) string {
	switch {
	case e.class == settingTighter:
		if limit := a.limitOf(e.values); limit > 0 {
			return fmt.Sprintf("Set it to a value above zero and up to %s.", postgresDuration(limit))
		}
		return "Set it to a value above zero."
	case e.values == "utf8":
		return "Only UTF8 is spoken here."
	case e.values == "iso":
		return "Set it to ISO."
	case e.values == "-" && e.class == settingPinned:
		return "Leave it as it is; a policy can open it under settings: {free: [" + name + "]}."
	case e.values == "-":
		return "Leave it as it is."
	}
	return "It may be set to " + strings.ReplaceAll(strings.SplitN(e.values, "|true", 2)[0], "|", ", ") + "."
}

// acceptsValue says whether a constant value is one the entry lets pass.
func (a *Agent) acceptsValue(u *SettingUse, e settingEntry) bool {
	switch {
	case e.class == settingTighter:
		return a.tightens(u.Value, e.values)
	case e.values == "utf8":
		return isUTF8(u.Value)
	case e.values == "iso":
		return isISO(u)
	case e.values == "path":
		return a.acceptsPath(u)
	}
	value := strings.ToLower(strings.TrimSpace(u.Value))
	return value != "" && value != "-" && slices.Contains(strings.Split(e.values, "|"), value)
}

// isUTF8 compares as the server does: letters and digits only, without case.
func isUTF8(value string) bool {
	var b strings.Builder
	for _, r := range strings.ToLower(value) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		}
	}
	return b.String() == "utf8" || b.String() == "unicode"
}

// elements are the value's list elements; a value that came as one text (from a
// startup message or set_config) is split.
func elements(u *SettingUse) []string {
	if len(u.Values) > 1 {
		return u.Values
	}
	value := u.Value
	if len(u.Values) == 1 {
		value = u.Values[0]
	}
	return strings.Split(value, ",")
}

func isISO(u *SettingUse) bool {
	style := false
	for _, e := range elements(u) {
		switch strings.ToLower(strings.Trim(strings.TrimSpace(e), `"'`)) {
		case "iso":
			style = true
		case "mdy", "dmy", "ymd", "us", "european", "euro", "noneuropean":
		default:
			return false
		}
	}
	return style
}

// acceptsPath says whether every schema named is one of the agent's. pg_catalog
// may stand first, where it is searched anyway, but not behind another schema.
func (a *Agent) acceptsPath(u *SettingUse) bool {
	var list []string
	if len(u.Values) > 0 {
		list = u.Values
	} else {
		var ok bool
		if list, ok = splitPath(u.Value); !ok {
			return false
		}
	}
	for i, schema := range list {
		if !slices.Contains(a.SearchPath, schema) && (schema != "pg_catalog" || i > 0) && (schema != "" || len(list) > 1) {
			return false
		}
	}
	return true
}

// splitPath splits a search_path value as the server does: identifiers,
// separated by commas, folded to lower case unless in double quotes.
func splitPath(value string) ([]string, bool) {
	rest := strings.TrimSpace(value)
	if rest == "" || rest == `""` {
		return []string{""}, true
	}
	var list []string
	for {
		var part string
		if strings.HasPrefix(rest, `"`) {
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 || strings.HasPrefix(rest[end+2:], `"`) {
				return nil, false // not closed, or a quote within a name
			}
			part, rest = rest[1:end+1], strings.TrimSpace(rest[end+2:])
		} else {
			end := strings.IndexByte(rest, ',')
			if end < 0 {
				end = len(rest)
			}
			part, rest = strings.ToLower(strings.TrimSpace(rest[:end])), rest[end:]
		}
		list = append(list, part)
		if rest == "" {
			return list, true
		}
		if rest[0] != ',' {
			return nil, false
		}
		rest = strings.TrimSpace(rest[1:])
	}
}

func (a *Agent) limitOf(which string) time.Duration {
	switch which {
	case "statement_timeout":
		return a.Limits.StatementTimeout
	case "lock_timeout":
		return a.Limits.LockTimeout
	case "idle_in_transaction":
		return a.Limits.IdleInTransaction
	}
	return 0
}

// tightens says whether a time limit is above zero (zero means none) and not
// above the agent's own.
func (a *Agent) tightens(value, which string) bool {
	d, ok := parsePostgresDuration(value)
	limit := a.limitOf(which)
	return ok && d >= time.Millisecond && (limit == 0 || d <= limit)
}

var postgresUnits = map[string]float64{"us": 1e3, "": 1e6, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "d": 86400e9}

// parsePostgresDuration reads a time as configuration parameters take it; a
// number without unit is milliseconds. What it can't read is not accepted.
func parsePostgresDuration(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	end := len(s)
	for end > 0 && (s[end-1] >= 'a' && s[end-1] <= 'z') {
		end--
	}
	unit, ok := postgresUnits[s[end:]]
	number := strings.TrimSpace(s[:end])
	if !ok || strings.Trim(number, "0123456789.") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v*unit > float64(365*24*time.Hour) {
		return 0, false
	}
	return time.Duration(v * unit), true
}

// postgresDuration writes a time as configuration parameters take it.
func postgresDuration(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return strconv.FormatInt(int64(d/time.Millisecond), 10) + "ms"
}
