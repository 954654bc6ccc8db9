package strangers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/stranger"
)

// flooding is the variable that makes this binary a flood, and describes it.
const flooding = "SERIATIM_TEST_FLOOD"

// floodElsewhere floods until its standard input ends.
func floodElsewhere(text string) int {
	var f stranger.Flood
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		fmt.Println(err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Printf("%d KiB of answers", f.Run(ctx)>>10)
	return 0
}

// flooded runs something beside a flood, which has a process of its own with the lowest priority.
func flooded(t *testing.T, f stranger.Flood, beside func()) (answers string) {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "nice", "-n", "19", os.Args[0])
	cmd.Env = append(os.Environ(), flooding+"="+string(text))
	cmd.Stdout, cmd.Stderr = &printed, &printed
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	beside()
	_ = stdin.Close() // it is only there to end
	if err := cmd.Wait(); err != nil {
		t.Errorf("the flood: %v", err)
	}
	return printed.String()
}

// startGuarded starts a cluster that wants access keys.
func startGuarded(t *testing.T) *harness.Cluster {
	t.Helper()
	key := t.TempDir() + "/first-key"
	if err := harness.WriteFirstKey(key); err != nil {
		t.Fatal(err)
	}
	return harness.New(t, harness.Options{Binary: binary, Args: []string{"--auth=true", "--first-key-file", key}})
}

// term is the leader and its term, as a node sees them.
type term struct {
	Leader string
	Term   uint64
}

func termOf(t *testing.T, n *harness.Node) term {
	t.Helper()
	s, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return term{s.LeaderID, s.Term}
}

const (
	stallMax = 500 * time.Millisecond
	p99Times = 3
)

// keepsLeader reports whether a flood left leader and term as they were, at least once of three
// times: beside other work on the machine a leader may lose its office without a flood.
func keepsLeader(t *testing.T, leader *harness.Node, friends *friends, flood stranger.Flood, calls int) bool {
	t.Helper()
	for range 3 {
		before := termOf(t, leader)
		answers := flooded(t, flood, func() { friends.goOn(calls) })
		after := termOf(t, leader)
		t.Logf("%+v: the flood got %s; before it %+v, after it %+v", flood, answers, before, after)
		if after == before {
			return true
		}
	}
	return false
}

// callsOf returns how many calls the clients make in a time.
func callsOf(last time.Duration) int { return friendsCount * int(last/sendEvery) }

// measureFlood compares the clients beside a flood with the same clients before it.
func measureFlood(t *testing.T, leader *harness.Node, friends *friends, flood stranger.Flood, calls int) {
	t.Helper()
	before := termOf(t, leader)
	friends.look()
	friends.goOn(calls)
	without := friends.p99()
	friends.look()
	var with, longest time.Duration
	answers := flooded(t, flood, func() {
		friends.goOn(calls)
		with, longest = friends.p99(), friends.longest()
	})
	t.Logf("p99 %v, without the flood %v; longest %v; the flood got %s", with, without, longest, answers)
	if after := termOf(t, leader); after != before {
		t.Errorf("the leader was %+v, is %+v", before, after)
	}
	if longest > stallMax || with > p99Times*without {
		t.Errorf("at most %v and %d times p99 are expected", stallMax, p99Times)
	}
}

// A flood of requests without a key, at the leader or at all nodes, deposes no leader. `make
// strangers` also measures the clients that have a key: their p99 and their longest wait.
func TestFloods(t *testing.T) {
	c := startGuarded(t)
	leader, err := c.WaitLeader(t.Context(), patience)
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string][]string{"the leader": {leader.Client}}
	for _, n := range c.Nodes {
		targets["all nodes"] = append(targets["all nodes"], n.Client)
	}
	measure := *turns > 0
	sizes, depths, calls := []int{100}, []int{300}, callsOf(2*time.Second)
	if measure {
		sizes, depths, calls = []int{100, 1000}, []int{10, 300}, callsOf(turn)
	}
	friends := startFriends(t, c, len(c.Nodes))
	friends.goOn(100)
	for _, target := range []string{"the leader", "all nodes"} {
		for _, kind := range []stranger.Flood{{}, {Deaf: true}, {HTTP2: true}} {
			for _, size := range sizes {
				for _, depth := range depths {
					flood := stranger.Flood{Addresses: targets[target], Conns: size, Depth: depth, HTTP2: kind.HTTP2, Deaf: kind.Deaf}
					t.Run(fmt.Sprintf("%s, HTTP/2 %v, deaf %v, %d connections, %d deep", target, kind.HTTP2, kind.Deaf, size, depth), func(t *testing.T) {
						if measure {
							measureFlood(t, leader, friends, flood, calls)
						} else if !keepsLeader(t, leader, friends, flood, calls) {
							t.Error("the leader was deposed each time")
						}
					})
				}
			}
		}
	}
	friends.finish()
}
