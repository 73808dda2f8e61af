package rig

import (
	"testing"
	"time"
)

const printed = `transaction type: <builtin: select only>
number of transactions actually processed: 5134
number of failed transactions: 0 (0.000%)
latency average = 0.389 ms
initial connection time = 4.210 ms
tps = 2567.102938 (without initial connection time)
`

func TestReadRun(t *testing.T) {
	got, err := readRun(printed)
	if err != nil || got != (Run{Transactions: 5134, TPS: 2567.102938, Latency: 389 * time.Microsecond}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := readRun("number of failed transactions: 3 (0.1%)\n"); err == nil {
		t.Error("failed transactions pass")
	}
}
