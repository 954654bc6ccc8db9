package partition

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
	"github.com/seriatimq/seriatim/test/kit/ledger"
)

// TestLeaderCutOff isolates the leader in one or both directions. The others serve, the old leader
// answers nothing, and at the end all acknowledged messages are there.
func TestLeaderCutOff(t *testing.T) {
	w := newWorld(t)
	for _, policy := range []func(string) network.Policy{network.Deaf, network.Mute, network.Isolate} {
		leader := w.leader()
		name := policy(leader.Name).Name
		w.fresh()
		w.serves(w.Nodes...)
		cut := w.lab.Traffic().Of("", "")[network.Cut]
		w.policy(policy(leader.Name))
		ctx, stop := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		served := make(chan struct{})
		w.refuses(ctx, leader, &asking, served)
		w.serves(w.Followers(leader)...)
		close(served)
		pause(askFor)
		w.serves(w.Followers(leader)...)
		stop()
		asking.Wait()
		if w.lab.Traffic().Of("", "")[network.Cut] == cut {
			t.Errorf("%s: the switch cut nothing", name)
		}
		w.heal()
		w.balance()
	}
}

// pause waits while goroutines of the test continue.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// TestFlappingLines makes the lines of the leader, and then all lines, fail and recover again and
// again.
func TestFlappingLines(t *testing.T) {
	onlyWithAll(t)
	w := newWorld(t)
	for _, policy := range []network.Policy{
		network.Flapping(w.leader().Name, 300*time.Millisecond),
		network.Flapping(w.leader().Name, 2*time.Second),
		network.Flapping("", 200*time.Millisecond),
	} {
		w.fresh()
		w.policy(policy)
		for end := time.Now().Add(askFor); time.Now().Before(end); {
			_ = w.send(w.Next()) // the ledger checks the result
		}
		w.heal()
		w.balance()
	}
}

// TestDeafFollower makes a follower send but not receive. It asks for elections all the time, and
// must not depose the leader (I14).
func TestDeafFollower(t *testing.T) {
	onlyWithAll(t)
	w := newWorld(t)
	leader := w.leader()
	deaf := w.Followers(leader)[0]
	core := slices.DeleteFunc(slices.Clone(w.Nodes), func(n *harness.Node) bool { return n == deaf })
	w.policy(network.Deaf(deaf.Name))
	w.serves(core...)
	before := w.status(leader)
	for end := time.Now().Add(3 * askFor); time.Now().Before(end); {
		w.serves(core...)
		pause(time.Second)
	}
	if after := w.status(w.leader()); after.Term > before.Term+1 {
		t.Errorf("term %d became %d while one node was deaf", before.Term, after.Term)
	}
	w.heal()
	w.balance()
}

func (w *world) status(n *harness.Node) harness.Status {
	w.t.Helper()
	s, err := n.Status(w.t.Context())
	harness.Must(w.t, err)
	return s
}

// TestLeaderSeesOneFollower cuts the line between the leader and one follower, in both directions
// or in one. The two followers see each other, so clients must be served through this majority
// (I14). An election cannot achieve this, since the other follower still hears the leader.
func TestLeaderSeesOneFollower(t *testing.T) {
	onlyWithAll(t)
	w := newWorld(t)
	for _, policy := range []func(leader, cut string) network.Policy{
		func(leader, cut string) network.Policy { return network.Halves([]string{leader}, []string{cut}) },
		network.OneWay,
		func(leader, cut string) network.Policy { return network.OneWay(cut, leader) },
	} {
		leader := w.leader()
		others := w.Followers(leader)
		w.fresh()
		w.policy(policy(leader.Name, others[1].Name))
		w.serves(others...)
		pause(askFor)
		before := w.status(w.leader())
		w.serves(w.Nodes...)
		pause(askFor)
		if after := w.status(w.leader()); after.Term != before.Term {
			t.Errorf("leadership went on moving: term %d became %d", before.Term, after.Term)
		}
		w.heal()
		w.balance()
	}
}

// TestLeaderThatCannotBeCalled cuts the connections for forwarded requests to the leader, but not
// those of the consensus. The other nodes must serve, which requires another leader, and that
// leader stays.
func TestLeaderThatCannotBeCalled(t *testing.T) {
	onlyWithAll(t)
	w := newWorld(t)
	leader := w.leader()
	others := w.Followers(leader)
	w.serves(w.Nodes...)
	w.policy(network.Isolate(leader.Name).Only(network.Forward))
	w.serves(others...)
	before := w.status(w.leader())
	for end := time.Now().Add(2 * askFor); time.Now().Before(end); {
		w.serves(others...)
		pause(time.Second)
	}
	if after := w.status(w.leader()); after.Term != before.Term {
		t.Errorf("leadership went on moving: term %d became %d", before.Term, after.Term)
	}
	w.heal()
	w.serves(w.Nodes...)
	w.balance()
}

// TestStaleLeader pauses a leader until there is another one, and calls it the moment it continues.
// All its answers must be current.
func TestStaleLeader(t *testing.T) {
	onlyWithAll(t)
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprintf("cut=%v", cut), func(t *testing.T) {
			w := newWorld(t)
			stale := w.leader()
			w.serves(stale)
			harness.Must(t, stale.Pause())
			rest := w.Part(w.Followers(stale)...)
			w.eventually("another leader", func() error {
				leader, err := rest.WaitLeader(t.Context(), waitMax)
				if err == nil {
					err = w.send(leader)
				}
				return err
			})
			leader, err := rest.WaitLeader(t.Context(), waitMax)
			harness.Must(t, err)
			// What the old leader knows is outdated: its first message was deleted, and the queue
			// now begins with another one.
			out, err := w.at(leader).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &w.url, MaxNumberOfMessages: 1})
			harness.Must(t, err)
			first := out.Messages[0]
			_, err = w.at(leader).DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &w.url, ReceiptHandle: first.ReceiptHandle})
			harness.Must(t, err)
			w.account.Delivered(ledger.FromSQS(out.Messages)...)
			made := w.create()

			if cut {
				w.policy(network.Isolate(stale.Name))
			}
			w.askStale(stale, first.Body, made, cut)
			w.heal()
			pause(2 * time.Second) // received messages are visible again afterwards
			w.balance()
		})
	}
}

// askStale starts calls that wait when the node continues.
func (w *world) askStale(stale *harness.Node, deleted *string, made string, cut bool) {
	client := w.at(stale)
	var asking sync.WaitGroup
	for range 5 {
		asking.Go(func() {
			out, err := client.ReceiveMessage(w.t.Context(),
				&sqs.ReceiveMessageInput{QueueUrl: &w.url, MaxNumberOfMessages: 1, VisibilityTimeout: 1})
			switch {
			case err != nil:
			case cut:
				w.t.Errorf("cut off, it answered a receive with %d messages", len(out.Messages))
			case len(out.Messages) > 0 && aws.ToString(out.Messages[0].Body) == *deleted:
				w.t.Errorf("it delivered %q, which was deleted", *deleted)
			}
		})
		asking.Go(func() {
			_, err := client.GetQueueAttributes(w.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &made})
			if err == nil && cut {
				w.t.Error("cut off, it answered what a queue is like")
			}
			if err != nil && strings.Contains(err.Error(), "NonExistentQueue") {
				w.t.Errorf("it does not know a queue that was made: %v", err)
			}
		})
	}
	// The calls are in flight when the node continues. If one is late, less is tested.
	pause(200 * time.Millisecond)
	harness.Must(w.t, stale.Resume())
	asking.Wait()
}

// members returns the names of the members that a node knows.
func (w *world) members(n *harness.Node) []string {
	w.t.Helper()
	text, err := n.Get(w.t.Context(), "/v1/cluster/members")
	harness.Must(w.t, err)
	var list struct {
		Members []struct {
			Name string `json:"name"`
		} `json:"members"`
	}
	harness.Must(w.t, json.Unmarshal(text, &list))
	var names []string
	for _, m := range list.Members {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// TestMembersChangeWhileDivided adds a node to the majority and removes the isolated leader, which
// meanwhile tries to change the members, too.
func TestMembersChangeWhileDivided(t *testing.T) {
	onlyWithAll(t)
	w := newWorld(t)
	old := w.leader()
	rest := w.Followers(old)
	spare, err := w.Spare("s1")
	harness.Must(t, err)
	t.Cleanup(func() { _ = spare.Kill() })
	w.serves(w.Nodes...)
	w.policy(network.Isolate(old.Name))
	if err := w.post(old, "/v1/cluster/remove", fmt.Sprintf(`{"node":%q}`, rest[0].Name)); err == nil {
		t.Error("a leader without a majority removed a member")
	}
	w.serves(rest...)
	harness.Must(t, spare.Start())
	harness.Must(t, spare.WaitReady(t.Context(), waitMax))
	w.eventually("promote", func() error { return w.post(rest[0], "/v1/cluster/promote", `{"node":"s1"}`) })
	w.eventually("remove", func() error { return w.post(rest[0], "/v1/cluster/remove", fmt.Sprintf(`{"node":%q}`, old.Name)) })
	w.serves(append(rest, spare)...)
	w.policy(network.Heal())
	// A removed node learns of its removal only when it asks.
	if code, err := old.WaitExit(waitMax); err != nil || code != exitRemoved {
		t.Errorf("the removed node: exit code %d, %v", code, err)
	}
	w.Nodes = append(rest, spare)
	w.serves(w.Nodes...)
	for _, n := range w.Nodes {
		if list := w.members(n); !slices.Equal(list, []string{rest[0].Name, rest[1].Name, "s1"}) {
			t.Errorf("%s knows the members %v", n.Name, list)
		}
	}
	w.heal()
	w.balance()
}

// exitRemoved is the exit code of a node that was removed.
const exitRemoved = 87

// TestLeaderRemovedWithUncommitted removes a leader with entries that no other node has. The same
// messages are then sent to the others.
func TestLeaderRemovedWithUncommitted(t *testing.T) {
	onlyWithAll(t)
	w := newWorld(t)
	old := w.leader()
	rest := w.Followers(old)
	w.serves(w.Nodes...)
	w.policy(network.Isolate(old.Name))
	var sending sync.WaitGroup
	for i := range 5 {
		sending.Go(func() {
			if err := w.sendNumber(old, "left-behind", i); err == nil {
				t.Errorf("message %d was acknowledged by a leader without a majority", i)
			}
		})
	}
	sending.Wait()
	w.serves(rest...)
	for i := range 5 {
		w.eventually("send again", func() error { return w.sendNumber(rest[0], "left-behind", i) })
	}
	w.eventually("remove", func() error { return w.post(rest[0], "/v1/cluster/remove", fmt.Sprintf(`{"node":%q}`, old.Name)) })
	w.policy(network.Heal())
	if code, err := old.WaitExit(waitMax); err != nil || code != exitRemoved {
		t.Errorf("the removed node: exit code %d, %v", code, err)
	}
	w.Nodes = rest
	w.heal()
	w.balance()
}
