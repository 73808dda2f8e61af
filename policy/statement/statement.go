// Package statement turns a statement's text into facts: what it is, which
// relations, columns, functions, operators, types and settings it uses, its
// names resolved against a catalog as the server would resolve them. It is the
// only importer of PostgreSQL's parser. It does no I/O.
package statement

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgairlock/pgairlock/policy"
)

// statement establishes what a whole statement is and what it uses. It is the
// closed switch over all statements: what is not here is refused.
func (a *analyzer) statement(n *pg_query.Node) {
	switch s := n.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		a.f.Kind, a.f.Tag, a.f.ReturnsRows = policy.KindSelect, "SELECT", true
		a.command(policy.Select)
		a.selectStmt(nil, s.SelectStmt, nil)
	case *pg_query.Node_InsertStmt:
		a.f.Kind, a.f.Tag = policy.KindInsert, "INSERT"
		a.f.ReturnsRows = len(s.InsertStmt.ReturningList) > 0
		a.insert(nil, s.InsertStmt)
	case *pg_query.Node_UpdateStmt:
		a.f.Kind, a.f.Tag = policy.KindUpdate, "UPDATE"
		a.f.ReturnsRows = len(s.UpdateStmt.ReturningList) > 0
		a.update(nil, s.UpdateStmt)
	case *pg_query.Node_DeleteStmt:
		a.f.Kind, a.f.Tag = policy.KindDelete, "DELETE"
		a.f.ReturnsRows = len(s.DeleteStmt.ReturningList) > 0
		a.delete(nil, s.DeleteStmt)
	case *pg_query.Node_MergeStmt:
		a.f.Kind, a.f.Tag = policy.KindMerge, "MERGE"
		a.f.ReturnsRows = len(s.MergeStmt.ReturningList) > 0
		a.merge(nil, s.MergeStmt)
	case *pg_query.Node_VariableSetStmt:
		a.variableSet(s.VariableSetStmt)
	case *pg_query.Node_VariableShowStmt:
		a.variableShow(s.VariableShowStmt)
	case *pg_query.Node_TransactionStmt:
		a.transaction(s.TransactionStmt)
	case *pg_query.Node_ExplainStmt:
		a.explain(s.ExplainStmt)
	case *pg_query.Node_PrepareStmt:
		a.prepare(s.PrepareStmt)
	case *pg_query.Node_ExecuteStmt:
		a.f.Kind, a.f.Tag = policy.KindExecute, "EXECUTE"
		a.execute(s.ExecuteStmt)
	case *pg_query.Node_DeclareCursorStmt:
		a.declare(s.DeclareCursorStmt)
	case *pg_query.Node_CopyStmt:
		a.copy(s.CopyStmt)
	case *pg_query.Node_CallStmt:
		a.call(s.CallStmt)
	case *pg_query.Node_DoStmt:
		a.mark(s.DoStmt)
		a.f.Kind, a.f.Tag = policy.KindDo, "DO"
		a.risk(policy.L4Irreversible)
		a.defElems(s.DoStmt.Args, nil)
	default:
		if !a.sessionStatement(n) && !a.definition(n) {
			a.f.Kind, a.f.Tag = policy.KindOther, nodeName(n)
			a.risk(policy.L4Irreversible)
			a.unmapped("the statement "+nodeName(n), -1)
		}
	}
}

// sessionStatement reads the statements that act on the session, its cursors
// and prepared statements, and on locks.
func (a *analyzer) sessionStatement(n *pg_query.Node) bool {
	switch s := n.GetNode().(type) {
	case *pg_query.Node_DeallocateStmt:
		a.mark(s.DeallocateStmt)
		a.f.Kind, a.f.Tag, a.f.Name = policy.KindDeallocate, "DEALLOCATE", s.DeallocateStmt.Name
	case *pg_query.Node_FetchStmt:
		a.mark(s.FetchStmt)
		a.f.Kind, a.f.Tag, a.f.ReturnsRows = policy.KindFetch, "FETCH", true
		if s.FetchStmt.Ismove {
			a.f.Tag, a.f.ReturnsRows = "MOVE", false
		}
		a.f.Name = s.FetchStmt.Portalname
		a.cursor(s.FetchStmt.Portalname)
	case *pg_query.Node_ClosePortalStmt:
		a.mark(s.ClosePortalStmt)
		a.f.Kind, a.f.Tag, a.f.Name = policy.KindClose, "CLOSE", s.ClosePortalStmt.Portalname
		if s.ClosePortalStmt.Portalname != "" { // CLOSE ALL has none
			a.cursor(s.ClosePortalStmt.Portalname)
		}
	case *pg_query.Node_DiscardStmt:
		a.mark(s.DiscardStmt)
		a.f.Kind, a.f.Tag = policy.KindDiscard, discardTag(s.DiscardStmt.Target)
	case *pg_query.Node_ListenStmt:
		a.mark(s.ListenStmt)
		a.f.Kind, a.f.Tag, a.f.Name = policy.KindListen, "LISTEN", s.ListenStmt.Conditionname
	case *pg_query.Node_UnlistenStmt:
		a.mark(s.UnlistenStmt)
		a.f.Kind, a.f.Tag, a.f.Name = policy.KindUnlisten, "UNLISTEN", s.UnlistenStmt.Conditionname
	case *pg_query.Node_NotifyStmt:
		a.mark(s.NotifyStmt)
		a.f.Kind, a.f.Tag, a.f.Name = policy.KindNotify, "NOTIFY", s.NotifyStmt.Conditionname
	case *pg_query.Node_LockStmt:
		a.mark(s.LockStmt)
		a.f.Kind, a.f.Tag = policy.KindLock, "LOCK TABLE"
		a.namedRelations(s.LockStmt.Relations, policy.Locking)
	case *pg_query.Node_TruncateStmt:
		a.mark(s.TruncateStmt)
		a.f.Kind, a.f.Tag = policy.KindTruncate, "TRUNCATE TABLE"
		a.risk(policy.L4Irreversible)
		a.namedRelations(s.TruncateStmt.Relations, policy.Truncation)
	default:
		return false
	}
	return true
}

func discardTag(m pg_query.DiscardMode) string {
	switch m {
	case pg_query.DiscardMode_DISCARD_PLANS:
		return "DISCARD PLANS"
	case pg_query.DiscardMode_DISCARD_SEQUENCES:
		return "DISCARD SEQUENCES"
	case pg_query.DiscardMode_DISCARD_TEMP:
		return "DISCARD TEMP"
	}
	return "DISCARD ALL"
}

// namedRelations records relations that a statement lists by name.
func (a *analyzer) namedRelations(list []*pg_query.Node, needs policy.Privilege) {
	for _, n := range list {
		rv := n.GetRangeVar()
		if rv == nil {
			a.unmapped("a relation list with "+nodeName(n), -1)
			continue
		}
		a.baseItem(rv, needs)
	}
}

// transaction reads BEGIN, COMMIT and their like. What detaches a transaction
// from the session, or takes up such a one, is no such statement.
func (a *analyzer) transaction(t *pg_query.TransactionStmt) {
	a.mark(t)
	a.f.Kind, a.f.Name = policy.KindTransaction, t.SavepointName
	switch t.Kind {
	case pg_query.TransactionStmtKind_TRANS_STMT_BEGIN:
		a.f.Tag = "BEGIN"
	case pg_query.TransactionStmtKind_TRANS_STMT_START:
		a.f.Tag = "START TRANSACTION"
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT:
		a.f.Tag = "COMMIT"
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK, pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		a.f.Tag = "ROLLBACK"
	case pg_query.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
		a.f.Tag = "SAVEPOINT"
	case pg_query.TransactionStmtKind_TRANS_STMT_RELEASE:
		a.f.Tag = "RELEASE"
	case pg_query.TransactionStmtKind_TRANS_STMT_PREPARE:
		a.twoPhase("PREPARE TRANSACTION")
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED:
		a.twoPhase("COMMIT PREPARED")
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_PREPARED:
		a.twoPhase("ROLLBACK PREPARED")
	default:
		a.f.Kind = policy.KindOther
		a.unmapped(t.Kind.String(), -1)
	}
	a.transactionModes(t.Options, "", policy.SetLocal)
}

func (a *analyzer) twoPhase(tag string) {
	a.f.Kind, a.f.Tag = policy.KindOther, tag
	a.risk(policy.L4Irreversible)
}

// call reads CALL: the procedure and its arguments.
func (a *analyzer) call(c *pg_query.CallStmt) {
	a.mark(c)
	a.f.Kind, a.f.Tag, a.f.ReturnsRows = policy.KindCall, "CALL", true
	a.risk(policy.L4Irreversible)
	if c.Funccall == nil {
		a.unmapped("CALL without a call", -1)
		return
	}
	a.invoke(&scope{}, c.Funccall, 'p')
}

// cursor checks that FETCH, MOVE, CLOSE and WHERE CURRENT OF name a cursor
// that was seen to be opened.
func (a *analyzer) cursor(name string) {
	if a.env.Cursor != nil && a.env.Cursor(name) {
		return
	}
	a.fail("unresolved-cursor", "34000", name, -1, "cursor %q does not exist", name)
}

// defElems reads an option list; each option is handed to use, if there is one.
func (a *analyzer) defElems(list []*pg_query.Node, use func(*pg_query.DefElem)) {
	for _, n := range list {
		d := n.GetDefElem()
		if d == nil {
			a.unmapped("an option list with "+nodeName(n), -1)
			continue
		}
		a.optionValue(d.Arg)
		if use != nil {
			use(d)
		}
	}
}

// optionValue reads an option's value: constants, words and lists of them.
func (a *analyzer) optionValue(n *pg_query.Node) {
	switch v := n.GetNode().(type) {
	case nil, *pg_query.Node_String_, *pg_query.Node_Integer, *pg_query.Node_Float, *pg_query.Node_Boolean,
		*pg_query.Node_AConst, *pg_query.Node_AStar:
	case *pg_query.Node_TypeName: // a bare word that is also a type's name
		a.mark(v.TypeName)
		a.nameParts(v.TypeName.Names)
	case *pg_query.Node_List:
		for _, e := range v.List.Items {
			a.optionValue(e)
		}
	default:
		a.unmapped("an option with "+nodeName(n), -1)
	}
}
