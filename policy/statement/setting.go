package statement

import (
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
)

// variableSet reads SET and RESET.
func (a *analyzer) variableSet(v *pg_query.VariableSetStmt) {
	a.mark(v)
	a.f.Kind, a.f.Tag = policy.KindSet, "SET"
	use := policy.SettingUse{Name: strings.ToLower(v.Name), Op: policy.SetSession, Literal: true, Pos: -1}
	if v.IsLocal {
		use.Op = policy.SetLocal
	}
	switch v.Kind {
	case pg_query.VariableSetKind_VAR_SET_VALUE:
		a.settingValue(&use, v.Args)
	case pg_query.VariableSetKind_VAR_SET_DEFAULT:
		use.Default = true
	case pg_query.VariableSetKind_VAR_SET_CURRENT:
		use.Literal = false
	case pg_query.VariableSetKind_VAR_SET_MULTI:
		a.setTransaction(v)
		return
	case pg_query.VariableSetKind_VAR_RESET:
		a.f.Tag, use.Op, use.Default = "RESET", policy.Reset, true
	case pg_query.VariableSetKind_VAR_RESET_ALL:
		a.f.Tag, use.Op, use.Default = "RESET", policy.ResetAll, true
	default:
		a.unmapped("SET "+v.Kind.String(), -1)
	}
	a.setting(use)
}

// setting records a use of a setting, with the red lines that it crosses.
func (a *analyzer) setting(use policy.SettingUse) {
	a.f.Settings = append(a.f.Settings, use)
	if use.Op == policy.ShowOne || use.Op == policy.ShowAll || use.Default {
		return
	}
	switch use.Name {
	case "role":
		if !use.Literal || !strings.EqualFold(use.Value, "none") {
			a.redLine("set-role")
		}
	case "session_authorization":
		a.redLine("set-session-authorization")
	}
}

// settingValue reads the value of SET as SHOW would take it: constants, lists
// of them joined.
func (a *analyzer) settingValue(use *policy.SettingUse, args []*pg_query.Node) {
	for _, n := range args {
		text, pos, ok := a.settingElement(n)
		if use.Pos < 0 {
			use.Pos = pos
		}
		if !ok {
			use.Literal = false
			continue
		}
		use.Values = append(use.Values, text)
	}
	use.Value = strings.Join(use.Values, ", ")
	if !use.Literal {
		use.Value, use.Values = "", nil
	}
}

func (a *analyzer) settingElement(n *pg_query.Node) (text string, pos int, ok bool) {
	switch e := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		text, ok = constText(e.AConst)
		return text, int(e.AConst.Location), ok
	case *pg_query.Node_TypeCast: // SET TIME ZONE INTERVAL '…'
		a.mark(e.TypeCast)
		a.typeName(e.TypeCast.TypeName)
		if c := e.TypeCast.Arg.GetAConst(); c != nil {
			text, ok = constText(c)
			return text, int(c.Location), ok
		}
	}
	a.unmapped("SET with "+nodeName(n), -1)
	return "", -1, false
}

// constText is a constant as text; NULL has none.
func constText(c *pg_query.A_Const) (string, bool) {
	switch v := c.Val.(type) {
	case *pg_query.A_Const_Sval:
		return v.Sval.GetSval(), true
	case *pg_query.A_Const_Ival:
		return strconv.Itoa(int(v.Ival.GetIval())), true
	case *pg_query.A_Const_Fval:
		return v.Fval.GetFval(), true
	case *pg_query.A_Const_Boolval:
		if v.Boolval.GetBoolval() {
			return "true", true
		}
		return "false", true
	case *pg_query.A_Const_Bsval:
		return v.Bsval.GetBsval(), true
	}
	return "", false
}

// setTransaction reads SET TRANSACTION and SET SESSION CHARACTERISTICS.
func (a *analyzer) setTransaction(v *pg_query.VariableSetStmt) {
	switch v.Name {
	case "TRANSACTION":
		a.f.Kind, a.f.Tag = policy.KindTransaction, "SET TRANSACTION"
		a.transactionModes(v.Args, "", policy.SetLocal)
	case "SESSION CHARACTERISTICS":
		a.f.Tag = "SET SESSION CHARACTERISTICS"
		a.transactionModes(v.Args, "default_", policy.SetSession)
	case "TRANSACTION SNAPSHOT":
		a.f.Kind, a.f.Tag = policy.KindTransaction, "SET TRANSACTION SNAPSHOT"
		use := policy.SettingUse{Name: "transaction_snapshot", Op: policy.SetLocal, Literal: true, Pos: -1}
		a.settingValue(&use, v.Args)
		a.setting(use)
	default:
		a.unmapped("SET "+v.Name, -1)
	}
}

// transactionModes reads the modes of BEGIN and SET TRANSACTION as the
// settings that they are.
func (a *analyzer) transactionModes(list []*pg_query.Node, prefix string, op policy.SettingOp) {
	for _, n := range list {
		d := n.GetDefElem()
		c := d.GetArg().GetAConst()
		if d == nil || c == nil {
			a.unmapped("transaction mode "+nodeName(n), -1)
			continue
		}
		use := policy.SettingUse{Name: prefix + d.Defname, Op: op, Literal: true, Pos: int(d.Location)}
		switch d.Defname {
		case "transaction_isolation":
			use.Value, use.Literal = constText(c)
		case "transaction_read_only", "transaction_deferrable":
			use.Value = "off"
			if c.GetIval().GetIval() != 0 {
				use.Value = "on"
			}
		default:
			a.unmapped("transaction mode "+d.Defname, int(d.Location))
			continue
		}
		use.Values = []string{use.Value}
		a.setting(use)
	}
}

// variableShow reads SHOW.
func (a *analyzer) variableShow(v *pg_query.VariableShowStmt) {
	a.mark(v)
	a.f.Kind, a.f.Tag, a.f.ReturnsRows = policy.KindShow, "SHOW", true
	name := strings.ToLower(v.Name)
	op := policy.ShowOne
	if name == "all" {
		op = policy.ShowAll
	}
	a.setting(policy.SettingUse{Name: name, Op: op, Literal: true, Pos: -1})
}

// settingFunction reads set_config and current_setting: they are SET and SHOW
// in a call's clothes.
func (a *analyzer) settingFunction(f *pg_query.FuncCall, c *call) {
	if c.name != "set_config" && c.name != "current_setting" || c.schema != "" && c.schema != "pg_catalog" {
		return
	}
	args := settingArgs(f, c)
	use := policy.SettingUse{Op: policy.ShowOne, Literal: true, Pos: c.pos}
	name, ok := literalText(args["setting_name"])
	if !ok {
		a.computedSetting(c.name, c.pos)
		return
	}
	use.Name = strings.ToLower(name)
	if c.name == "set_config" {
		use.Op = policy.SetSession
		if local := args["is_local"].GetAConst(); local != nil && local.GetBoolval().GetBoolval() {
			use.Op = policy.SetLocal
		}
		use.Value, use.Literal = literalText(args["new_value"])
		if use.Literal {
			use.Values = splitList(use.Name, use.Value)
		}
	}
	a.setting(use)
}

// computedSetting reports a call that may read or change any setting.
func (a *analyzer) computedSetting(function string, pos int) {
	a.problem(policy.Problem{
		Rule: "computed-setting", SQLSTATE: "42501", Name: function, Pos: pos,
		Message: function + " needs the setting's name as a constant",
		Hint:    "write the name of the setting as a string constant",
	})
}

// settingArgs names the arguments of set_config and current_setting.
func settingArgs(f *pg_query.FuncCall, c *call) map[string]*pg_query.Node {
	names := [3]string{"setting_name", "new_value", "is_local"}
	out := make(map[string]*pg_query.Node, 3)
	for i, n := range f.Args {
		if na := n.GetNamedArgExpr(); na != nil {
			out[na.Name] = na.Arg
		} else if i < len(names) {
			out[names[i]] = n
		}
	}
	return out
}

// literalText is the text of a string constant, cast to text or not.
func literalText(n *pg_query.Node) (string, bool) {
	if t := n.GetTypeCast(); t != nil {
		names := t.TypeName.GetNames()
		last, _ := lastName(names)
		if last != "text" || len(names) == 2 && names[0].GetString_().GetSval() != "pg_catalog" || len(t.TypeName.GetArrayBounds()) > 0 {
			return "", false
		}
		return literalText(t.Arg)
	}
	c := n.GetAConst()
	if c == nil {
		return "", false
	}
	s, ok := c.Val.(*pg_query.A_Const_Sval)
	if !ok {
		return "", false
	}
	return s.Sval.GetSval(), true
}

// splitList splits the value of a setting that is a list, as the server does
// for a value given as one string. Names fold to lower case unless quoted.
func splitList(name, text string) []string {
	if name != "search_path" && name != "datestyle" {
		return []string{text}
	}
	var out []string
	for rest := strings.TrimSpace(text); rest != ""; {
		var part string
		if rest[0] == '"' {
			part, rest = quotedName(rest)
		} else {
			i := strings.IndexByte(rest, ',')
			if i < 0 {
				i = len(rest)
			}
			part, rest = strings.ToLower(strings.TrimSpace(rest[:i])), rest[i:]
		}
		out = append(out, part)
		rest = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), ","))
	}
	return out
}

// quotedName takes a double-quoted name off the front of text.
func quotedName(text string) (name, rest string) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] != '"' {
			b.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '"' {
			b.WriteByte('"')
			i++
			continue
		}
		return b.String(), text[i+1:]
	}
	return b.String(), ""
}
