package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Names of observations about failpoints.
const (
	crashes       = "crashes at a place"
	answerCrashes = "crashes between apply and answer"
)

// crashWithin bounds the wait until a node under load reaches a place.
const crashWithin = 15 * time.Second

// place is a failpoint at which a process is killed, and the means to make a node reach it.
type place struct {
	name string
	// choose claims the node; nil: any, half of the time the leader.
	choose func(*injection, context.Context) (*harness.Node, error)
	// provoke makes the node reach the place, if the load alone does not.
	provoke func(*injection, context.Context, *harness.Node) error
	// start means that a node reaches the place only while it starts.
	start bool
}

// places contains every failpoint of test/faults/plants/failpoint; a test compares them.
var places = [...]place{
	{name: "store-logs-before"},
	{name: "store-logs-after"},
	{name: "vote-before", choose: (*injection).takeFollower, provoke: (*injection).election},
	{name: "vote-after", choose: (*injection).takeFollower, provoke: (*injection).election},
	{name: "apply-before"},
	{name: "apply-after"},
	{name: "answer", choose: (*injection).takeLeader},
	{name: "reply"},
	{name: "snapshot-begin"},
	{name: "snapshot-written"},
	{name: "snapshot-rename-before"},
	{name: "snapshot-rename-after"},
	{name: "restore-begin", start: true},
	{name: "restore-swapped", start: true},
	{name: "log-truncate-before"},
	{name: "log-truncate-after"},
	{name: "append-entries-answer", choose: (*injection).takeFollower},
	{name: "install-snapshot-answer", choose: (*injection).takeFollower, provoke: (*injection).lagging},
	{name: "forward-sent", choose: (*injection).takeFollower},
	{name: "forward-answered", choose: (*injection).takeFollower},
	{name: "member-change-before", choose: (*injection).takeLeader, provoke: (*injection).join},
	{name: "member-change-after", choose: (*injection).takeLeader, provoke: (*injection).join},
	{name: "deduplication-expire"},
	{name: "attempt-write"},
	{name: "shutdown", provoke: (*injection).terminate},
}

// placeErrors are the places at which a call may get an error instead of its answer.
var placeErrors = [...]string{"append-entries-answer", "install-snapshot-answer", "forward-sent", "forward-answered", "answer", "reply",
	"snapshot-begin"}

// failpointFaults need a fault build.
func failpointFaults() []fault {
	faults := []fault{
		{name: "crash between apply and answer", least: time.Second, most: 2 * time.Second, single: true, begin: crashBeforeAnswer},
		{name: "errors at places", least: 2 * time.Second, most: 10 * time.Second, begin: errorsAtPlaces},
		{name: "every place slow", least: 2 * time.Second, most: 10 * time.Second, begin: slowPlaces},
	}
	for _, x := range places {
		faults = append(faults, fault{
			name: "crash at " + x.name, least: 500 * time.Millisecond, most: 3 * time.Second,
			begin: func(s *injection, ctx context.Context) error { return s.crashAt(ctx, x) },
		})
	}
	for i := range faults {
		faults[i].area = areaFailpoint
	}
	return faults
}

// arm sets a failpoint of a node until the injection ends. A restarted process has none.
func (s *injection) arm(ctx context.Context, n *harness.Node, at, action string) error {
	s.touch(history.TouchFailpoint, n)
	set := func(ctx context.Context, action string) error {
		return s.testbed.admin(ctx, n, http.MethodPut, "/v1/failpoints/"+at, action)
	}
	s.undo(func() error {
		if !n.Running() {
			return nil
		}
		short, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := set(short, "off"); err != nil && n.Running() {
			return err
		}
		return nil
	})
	return set(ctx, action)
}

// crashAt ends a node at a place. The node stays down until the injection ends.
func (s *injection) crashAt(ctx context.Context, x place) error {
	choose := x.choose
	if choose == nil {
		choose = (*injection).target
	}
	n, err := choose(s, ctx)
	if err != nil {
		return err
	}
	exit := "exit(" + history.CrashCode + ")"
	switch {
	case x.start:
		err = s.startInto(n, x.name+"="+exit)
	case x.provoke == nil:
		err = s.arm(ctx, n, x.name, fmt.Sprintf("%s.nth(%d)", exit, 1+s.random.IntN(20)))
	default:
		if err = s.arm(ctx, n, x.name, exit); err == nil {
			err = x.provoke(s, ctx, n)
		}
	}
	if err != nil {
		return err
	}
	return s.crashed(n, x.name)
}

// crashed waits until a node has reached a place, and records it.
func (s *injection) crashed(n *harness.Node, at string) error {
	code, err := n.WaitExit(crashWithin)
	if err != nil {
		return fmt.Errorf("nothing came by the place %s: %w", at, err)
	}
	if fmt.Sprint(code) != history.CrashCode {
		return fmt.Errorf("%s ended with code %d before it came by the place %s: %s", n.Name, code, at, lastLine(n.LogTail()))
	}
	s.testbed.observe(crashes, n.Name, 1)
	return nil
}

// startInto kills a node and starts it with failpoints armed from the beginning.
func (s *injection) startInto(n *harness.Node, failpoints string) error {
	if err := n.Kill(); err != nil {
		return err
	}
	s.touch(history.TouchFailpoint, n)
	s.testbed.setFailpoints(n.Name, failpoints)
	defer s.testbed.setFailpoints(n.Name, "")
	return n.Start()
}

// arrives waits until a node that was started with a failpoint has reached it.
func (s *injection) arrives(ctx context.Context, n *harness.Node, at string) bool {
	bounded, cancel := context.WithTimeout(ctx, crashWithin)
	defer cancel()
	for {
		if text, err := n.Get(bounded, "/v1/failpoints/"+at); err == nil && strings.TrimSpace(string(text)) != "0" {
			return true
		}
		if !pause(bounded, 20*time.Millisecond) || !n.Running() {
			return false
		}
	}
}

// crashBeforeAnswer ends the leader after it applied a command and before it answers the client.
func crashBeforeAnswer(s *injection, ctx context.Context) error {
	between := []string{"apply-after", "answer", "reply"}
	x := place{name: between[s.random.IntN(len(between))], choose: (*injection).takeLeader}
	if err := s.crashAt(ctx, x); err != nil {
		return err
	}
	s.testbed.observe(answerCrashes, x.name, 1)
	return nil
}

// errorsAtPlaces makes a fifth of the operations at some places of one node fail.
func errorsAtPlaces(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	for _, at := range placeErrors {
		if err := s.arm(ctx, n, at, fmt.Sprintf("error(on purpose).prob(0.2,%d)", s.random.Uint64())); err != nil {
			return err
		}
	}
	return nil
}

// slowPlaces delays a node at random at all places, so that rare interleavings become frequent.
func slowPlaces(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	for _, x := range places {
		if err := s.arm(ctx, n, x.name, fmt.Sprintf("sleep(30ms).prob(0.1,%d)", s.random.Uint64())); err != nil {
			return err
		}
	}
	return nil
}

// election makes the nodes vote. A refusal does not matter: the test checks whether the node
// reached the place.
func (s *injection) election(ctx context.Context, _ *harness.Node) error {
	s.touch(history.TouchTransfer, s.testbed.cluster.Nodes...)
	_ = s.testbed.anyAdmin(ctx, "/v1/cluster/transfer-leader", `{}`)
	return nil
}

// lagging makes a node need a snapshot: the node is away until the log no longer reaches back far
// enough, and then starts with the place armed.
func (s *injection) lagging(ctx context.Context, n *harness.Node) error {
	if err := s.outdate(ctx, n); err != nil {
		return err
	}
	return s.startInto(n, "install-snapshot-answer=exit("+history.CrashCode+")")
}

// join adds a node, which is removed at the end.
func (s *injection) join(_ context.Context, n *harness.Node) error {
	spare, err := s.testbed.spare()
	if err != nil {
		return err
	}
	if err := spare.Start(); err != nil {
		return err
	}
	s.undo(func() error {
		// The current leader accepts it, or has already done so.
		bounded, cancel := context.WithTimeout(context.Background(), s.testbed.joining())
		defer cancel()
		return errors.Join(s.restart(n), spare.WaitReady(bounded, s.testbed.joining()), s.dismiss(spare))
	})
	return nil
}

// restart starts a node that does not run.
func (s *injection) restart(n *harness.Node) error {
	if n.Running() {
		return nil
	}
	return n.Start()
}

// terminate asks a node to end. The failpoint must end it earlier.
func (s *injection) terminate(_ context.Context, n *harness.Node) error {
	if err := n.Stop(stopLimit); err == nil {
		return fmt.Errorf("%s left as it was told to", n.Name)
	}
	return nil
}
