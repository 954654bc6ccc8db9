package unauthenticated

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

	"github.com/seriatimq/seriatim/test/kit/attacker"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

// flooding is the environment variable that turns this binary into a flood and describes it.
const flooding = "SERIATIM_TEST_FLOOD"

// floodElsewhere floods until its standard input ends.
func floodElsewhere(text string) int {
	var f attacker.Flood
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

// flooded calls beside during a flood. A process with the lowest priority sends the flood.
func flooded(t *testing.T, f attacker.Flood, beside func()) (answers string) {
	t.Helper()
	text, err := json.Marshal(f)
	harness.Must(t, err)
	var printed bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "nice", "-n", "19", os.Args[0])
	cmd.Env = append(os.Environ(), flooding+"="+string(text))
	cmd.Stdout, cmd.Stderr = &printed, &printed
	stdin, err := cmd.StdinPipe()
	harness.Must(t, err)
	harness.Must(t, cmd.Start())
	beside()
	_ = stdin.Close() // the end of the input ends the flood
	if err := cmd.Wait(); err != nil {
		t.Errorf("the flood: %v", err)
	}
	return printed.String()
}

// startWithKeys starts a cluster that accepts signed requests only.
func startWithKeys(t *testing.T) *harness.Cluster {
	t.Helper()
	key := t.TempDir() + "/first-key"
	harness.Must(t, harness.WriteFirstKey(key))
	return harness.New(t, harness.Options{Binary: binary, Args: []string{"--auth=true", "--first-key-file", key}})
}

// term is a leader and its term, as a node reports them.
type term struct {
	Leader string
	Term   uint64
}

func termOf(t *testing.T, n *harness.Node) term {
	t.Helper()
	s, err := n.Status(t.Context())
	harness.Must(t, err)
	return term{s.LeaderID, s.Term}
}

const (
	stallMax = 500 * time.Millisecond
	p99Times = 3
)

// keepsLeader reports whether leader and term were the same before and after a flood, in at least
// one of three tries, because other work on the machine may also depose a leader.
func keepsLeader(t *testing.T, leader *harness.Node, signed *clients, flood attacker.Flood, calls int) bool {
	t.Helper()
	for range 3 {
		before := termOf(t, leader)
		answers := flooded(t, flood, func() { signed.awaitCalls(calls) })
		after := termOf(t, leader)
		t.Logf("%+v: the flood got %s; before it %+v, after it %+v", flood, answers, before, after)
		if after == before {
			return true
		}
	}
	return false
}

// callsOf returns the number of calls that the clients make in a certain time.
func callsOf(last time.Duration) int { return clientsCount * int(last/sendEvery) }

// measureFlood compares the clients during a flood with the same clients before it.
func measureFlood(t *testing.T, leader *harness.Node, signed *clients, flood attacker.Flood, calls int) {
	t.Helper()
	before := termOf(t, leader)
	signed.look()
	signed.awaitCalls(calls)
	without := signed.p99()
	signed.look()
	var with, longest time.Duration
	answers := flooded(t, flood, func() {
		signed.awaitCalls(calls)
		with, longest = signed.p99(), signed.longest()
	})
	t.Logf("p99 %v, without the flood %v; longest %v; the flood got %s", with, without, longest, answers)
	if after := termOf(t, leader); after != before {
		t.Errorf("the leader was %+v, is %+v", before, after)
	}
	if longest > stallMax || with > p99Times*without {
		t.Errorf("at most %v and %d times p99 are expected", stallMax, p99Times)
	}
}

// TestFloods checks that a flood of unsigned requests, to the leader or to all nodes, does not
// depose the leader. `make unauthenticated` also measures the p99 and the longest call of clients
// with a key.
func TestFloods(t *testing.T) {
	c := startWithKeys(t)
	leader, err := c.WaitLeader(t.Context(), idleTimeout)
	harness.Must(t, err)
	targets := map[string][]string{"the leader": {leader.Client}}
	for _, n := range c.Nodes {
		targets["all nodes"] = append(targets["all nodes"], n.Client)
	}
	measure := *turns > 0
	sizes, depths, calls := []int{100}, []int{300}, callsOf(2*time.Second)
	if measure {
		sizes, depths, calls = []int{100, 1000}, []int{10, 300}, callsOf(turn)
	}
	signed := startClients(t, c, len(c.Nodes))
	signed.awaitCalls(100)
	for _, target := range []string{"the leader", "all nodes"} {
		for _, kind := range []attacker.Flood{{}, {Deaf: true}, {HTTP2: true}} {
			for _, size := range sizes {
				for _, depth := range depths {
					flood := attacker.Flood{Addresses: targets[target], Conns: size, Depth: depth, HTTP2: kind.HTTP2, Deaf: kind.Deaf}
					t.Run(fmt.Sprintf("%s, HTTP/2 %v, deaf %v, %d connections, %d deep", target, kind.HTTP2, kind.Deaf, size, depth),
						func(t *testing.T) {
							if measure {
								measureFlood(t, leader, signed, flood, calls)
							} else if !keepsLeader(t, leader, signed, flood, calls) {
								t.Error("the leader was deposed each time")
							}
						})
				}
			}
		}
	}
	signed.finish()
}
