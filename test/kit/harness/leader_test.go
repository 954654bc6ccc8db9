package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestWaitLeaderSaysWhy: a wait that its caller ended found out nothing about who
// leads, and one that found no leader says what each node answered.
func TestWaitLeaderSaysWhy(t *testing.T) {
	c := &Cluster{Nodes: []*Node{{Name: "n1"}, {Name: "n2"}}}
	over, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the script took too long")
	cancel(reason)
	leader, err := c.WaitLeader(over, time.Minute)
	if leader != nil || !errors.Is(err, reason) || strings.Contains(err.Error(), "no node leads") {
		t.Errorf("after its context was over: %v, %v", leader, err)
	}
	leader, err = c.WaitLeader(t.Context(), 10*time.Millisecond)
	if leader != nil || err == nil {
		t.Fatalf("of nodes that do not run: %v, %v", leader, err)
	}
	for _, want := range []string{"no node leads", "n1 does not run", "n2 does not run"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}
