package membership

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// lonelyBootstrap is the bootstrap of a node without network.
func lonelyBootstrap(t *testing.T, view []discovery.Member) *Bootstrap {
	t.Helper()
	dir, err := storage.OpenDir(t.TempDir(), "b", rand.Reader)
	clustertest.Must(t, err)
	t.Cleanup(func() { _ = dir.Close() }) // nothing is written
	dir.NodeID = "b-2"
	b := NewBootstrap(BootstrapOptions{
		Dir: dir, Expect: 3, HasState: func() bool { return false },
		Guard: storage.NewDiskGuard(time.Minute, clustertest.NewFatalRecord().Fatal, nil), Log: clustertest.Logger(t, 0),
	}, storage.Membership{})
	b.view, b.announce = func() []discovery.Member { return view }, func() {}
	return b
}

func TestBootstrapChooses(t *testing.T) {
	node := func(id string, change ...func(*discovery.Member)) discovery.Member {
		m := discovery.Member{NodeID: id, Expect: 3, Alive: true}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	gone := func(m *discovery.Member) { m.Alive = false }
	state := func(m *discovery.Member) { m.HasState = true }
	five := func(m *discovery.Member) { m.Expect = 5 }
	pledged := func(id string) func(*discovery.Member) { return func(m *discovery.Member) { m.ClusterID = id } }
	tests := []struct {
		name string
		view []discovery.Member
		want []string
		why  string
	}{
		{"alone", nil, nil, "2 of 3 initial members: b is here"},
		{"two", []discovery.Member{node("a-1")}, nil, "1 of 3 initial members: a, b are here"},
		{"three", []discovery.Member{node("a-1"), node("c-3")}, []string{"a-1", "b-2", "c-3"}, ""},
		{"one is gone", []discovery.Member{node("a-1"), node("c-3", gone)}, nil, "1 of 3 initial members: a, b are here"},
		{"one has state", []discovery.Member{node("a-1"), node("c-3"), node("d-4", state)}, nil, "must be added"},
		{"one expects more", []discovery.Member{node("a-1"), node("c-3", five)}, nil, "c-3 expects 5"},
		{"four, this one is among the first", []discovery.Member{node("a-1"), node("c-3"), node("d-4")}, []string{"a-1", "b-2", "c-3"}, ""},
		{"four, this one is the last", []discovery.Member{node("a-1"), node("a-2"), node("a-3")}, nil,
			"other nodes are the initial members"},
		{"one has pledged to others", []discovery.Member{node("a-1"), node("c-3", pledged("feed"))}, nil, "has pledged"},
		{"one has pledged the same", []discovery.Member{node("a-1"),
			node("c-3", pledged(storage.ClusterIDOf([]string{"a-1", "b-2", "c-3"})))}, []string{"a-1", "b-2", "c-3"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, why := lonelyBootstrap(t, test.view).choose()
			if !slices.Equal(got, test.want) || !strings.Contains(why, test.why) {
				t.Fatalf("got %v, %q", got, why)
			}
		})
	}
}

func TestBootstrapPledgesOnce(t *testing.T) {
	first, other := []string{"a-1", "b-2", "c-3"}, []string{"b-0", "b-2", "c-3"}
	b := lonelyBootstrap(t, nil)
	ask := func(members []string) string {
		return b.givePledge(bootstrapRequest{Op: opPledge, From: members[0], InitialMembers: members})
	}
	if objection := b.givePledge(bootstrapRequest{Op: opPledge, From: "c-3", InitialMembers: first}); objection == "" {
		t.Error("pledged to a node that is not the first member")
	}
	if objection := ask(first); objection != "" {
		t.Fatal(objection)
	}
	if objection := ask(first); objection != "" {
		t.Errorf("asked again: %s", objection)
	}
	if objection := ask(other); !strings.Contains(objection, "has pledged") {
		t.Errorf("pledged twice: %q", objection)
	}
	if record, err := b.Dir.Membership(); err != nil || record.ClusterID != storage.ClusterIDOf(first) {
		t.Errorf("on disk: %+v, %v", record, err)
	}
	asked := b.asked.Load()
	if objection := ask([]string{"a-1", "b-2", "d-4"}); objection != "" {
		t.Errorf("the first member cannot choose others: %s", objection)
	}
	if err := b.withdraw(asked); err == nil {
		t.Error("a pledge was withdrawn for a reason older than it")
	}
	clustertest.Check(t, b.withdraw(b.asked.Load()))
	if objection := ask(other); objection != "" {
		t.Errorf("a free node gives no pledge: %s", objection)
	}
	b.HasState = func() bool { return true }
	if objection := ask(first); !strings.Contains(objection, "belongs to a cluster") {
		t.Errorf("a node with state gave a pledge: %q", objection)
	}
	if err := b.withdraw(b.asked.Load()); err == nil {
		t.Error("a node with state left its cluster")
	}
}

// The names of fields that nodes send and record are part of the protocol.
func TestBootstrapOnTheWire(t *testing.T) {
	members := []string{"a-1", "b-2"}
	for _, c := range []struct {
		value any
		want  string
	}{
		{bootstrapRequest{Op: opPledge, From: "a-1", InitialMembers: members},
			`{"op":"pledge","from":"a-1","initialMembers":["a-1","b-2"]}`},
		{bootstrapRequest{Op: opConfirm, From: "a-1", InitialMembers: members},
			`{"op":"confirm","from":"a-1","initialMembers":["a-1","b-2"]}`},
		{storage.Membership{ClusterID: "c", InitialMembers: members, Joined: true, Added: true},
			`{"clusterId":"c","founders":["a-1","b-2"],"joined":true,"admitted":true}`},
	} {
		if got, err := json.Marshal(c.value); err != nil || string(got) != c.want {
			t.Errorf("%T is %s, %v, want %s", c.value, got, err, c.want)
		}
	}
}

// A node pledges itself only to the node that has connected.
func TestPledgesGoToTheNodeThatAsks(t *testing.T) {
	t.Parallel()
	b := lonelyBootstrap(t, nil)
	members := []string{"a-1", "b-2", "c-3"}
	if answer, _ := b.answer(t.Context(), "c-3", bootstrapRequest{Op: opPledge, From: "a-1", InitialMembers: members}); answer.Yes {
		t.Error("pledged to a node in the name of another")
	}
	if answer, _ := b.answer(t.Context(), "a-1", bootstrapRequest{Op: opPledge, From: "a-1", InitialMembers: members}); !answer.Yes {
		t.Errorf("no pledge: %s", answer.Reason)
	}
}

func TestProofNeedsTheGossipKey(t *testing.T) {
	c := New(Node{Settings: Settings{GossipKey: []byte("0123456789abcdef")}})
	clustertest.Check(t, c.checkProof(ProofOf(c.node.GossipKey, "n", "c"), "n", "c"))
	for _, proof := range []string{"", ProofOf(c.node.GossipKey, "m", "c"), ProofOf(c.node.GossipKey, "n", ""),
		ProofOf([]byte("another"), "n", "c")} {
		if err := c.checkProof(proof, "n", "c"); err == nil || !strings.Contains(err.Error(), "keys differ") {
			t.Errorf("the proof %q gave %v", proof, err)
		}
	}
}
