package proxy

import (
	"context"
	"fmt"

	"github.com/pgairlock/pgairlock/policy"
	"github.com/pgairlock/pgairlock/policy/statement"
	"github.com/pgairlock/pgairlock/proxy/wire"
)

// functionCall refuses a FunctionCall, which runs a function without any text to
// judge. Only where the policy lets everything pass (unsafe_passthrough) is it
// sent, and recorded as what would have been refused.
func (x *session) functionCall(ctx context.Context, p *wire.Piece) error {
	function, err := wire.DecodeFunctionCall(p.Body())
	if err != nil {
		return err
	}
	ok, err := x.settled(ctx)
	if err != nil || !ok {
		x.discard = true
		return err
	}
	if !x.agent.UnsafePassthrough {
		x.discard = true
		x.refuseQuery(callRefusal(), nil)
		return nil
	}
	j := x.view.called(function)
	place, refusal := x.admit(ctx, j)
	if refusal != nil {
		x.discard = true
		x.refuseQuery(refusal, j)
		return nil
	}
	if err := x.whileInterrupting(); err != nil {
		return err
	}
	op := &operation{judged: j, place: place, sentAt: x.server.now()}
	x.noteSent(op, -1)
	x.forward(p, wire.Entry{Kind: wire.FunctionCall, Note: op})
	return nil
}

func callRefusal() *statement.Refusal {
	return &statement.Refusal{Rule: "function-call", SQLSTATE: "42501", Message: "the FunctionCall message is not allowed",
		Hint: "Call the function in a SELECT."}
}

// called is the judgement on a FunctionCall that passes without being refused:
// all that is known of it is the function's OID.
func (v *view) called(function uint32) *judged {
	r := callRefusal()
	reason := policy.Reason{Rule: r.Rule, Verdict: policy.Deny, SQLSTATE: r.SQLSTATE, Message: r.Message, Hint: r.Hint, Pos: -1}
	return &judged{view: v, touch: touch{path: true}, Judgement: statement.Judgement{
		Text: fmt.Sprintf("FunctionCall %d", function), Risk: policy.L4Irreversible,
		Parts: []statement.Part{{
			Facts:    policy.Facts{Kind: policy.KindOther, Risk: policy.L4Irreversible},
			Decision: policy.Decision{Verdict: policy.Allow, Risk: policy.L4Irreversible, Reasons: []policy.Reason{reason}},
		}},
	}}
}
