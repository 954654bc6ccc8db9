package strangers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/stranger"
)

// elsewhere is the variable that makes this binary strangers on another machine, and names
// the ports of the nodes. On one machine they have a process of their own with the lowest
// priority, so that what clients and servers lose is what servers do for them and not what
// they do themselves.
const elsewhere = "SERIATIM_TEST_STRANGERS"

// ports are those of a node.
type ports struct{ Client, Admin string }

// try is one try of a stranger: it opens a connection and says something.
type try func(caller)

// tries are those of one second, in any order.
func tries(ctx context.Context, nodes []ports) (all []try) {
	add := func(count int, one try) {
		for range count {
			all = append(all, one)
		}
	}
	for _, n := range nodes {
		add(20, func(s caller) { s.Dial(n.Client, halfHeader) })
		add(20, func(s caller) { s.Dial(n.Client, halfBody) })
		add(20, func(s caller) { s.Dial(n.Admin, "") })
		for _, first := range annoyances() {
			add(1, func(s caller) { s.Dial(n.Client, first) })
		}
	}
	secure := nodes[2].Client
	add(10, func(s caller) { s.Dial(secure, halfHello) })
	add(10, func(s caller) { s.Dial(secure, whole) })
	add(10, func(s caller) { s.shakeHand(ctx, secure) })
	add(1, func(s caller) { s.openStreams(nodes[1].Client, 1, 200) })
	for _, one := range floods {
		add(1, func(s caller) { s.flood(nodes[1].Client, floodFrames, one) })
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// floodFrames is how many frames each flood has.
const floodFrames = 2_000

// tryElsewhere is the other process: it tries evenly until its standard input ends, and
// holds each connection for a second. It prints what it did.
func tryElsewhere(list string) int {
	var nodes []ports
	if err := json.Unmarshal([]byte(list), &nodes); err != nil {
		fmt.Println(err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	all := tries(ctx, nodes)
	var callers [20]caller // each hangs up before its turn comes again
	for i := range callers {
		callers[i] = caller{stranger.New(9)}
	}
	tick := time.NewTicker(time.Second / time.Duration(len(all)))
	defer tick.Stop()
	began := time.Now()
	var begun, ended atomic.Int64
	for i := 0; ctx.Err() == nil; i = (i + 1) % len(all) {
		one, s := all[i], callers[i*len(callers)/len(all)]
		if i == 0 || (i-1)*len(callers)/len(all) < i*len(callers)/len(all) {
			s.HangUp()
		}
		begun.Add(1)
		go func() {
			one(s)
			ended.Add(1)
		}()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	took := time.Since(began).Seconds()
	fmt.Printf("%.0f tries a second of %d intended, %d not ended", float64(begun.Load())/took, len(all), begun.Load()-ended.Load())
	return 0
}

// strangersElsewhere are those of the other process.
type strangersElsewhere struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.Closer
	printed bytes.Buffer
}

// startElsewhere begins the tries.
func startElsewhere(t *testing.T, c *harness.Cluster) *strangersElsewhere {
	t.Helper()
	var nodes []ports
	for _, n := range c.Nodes {
		nodes = append(nodes, ports{n.Client, n.Admin})
	}
	list, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	s := &strangersElsewhere{t: t, cmd: exec.CommandContext(t.Context(), "nice", "-n", "19", os.Args[0])}
	s.cmd.Env = append(os.Environ(), elsewhere+"="+string(list))
	s.cmd.Stdout, s.cmd.Stderr = &s.printed, &s.printed
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// finish ends the tries and says what they were.
func (s *strangersElsewhere) finish() string {
	s.t.Helper()
	_ = s.stdin.Close() // it is only there to end
	if err := s.cmd.Wait(); err != nil {
		s.t.Fatalf("strangers elsewhere: %v\n%s", err, s.printed.Bytes())
	}
	return strings.TrimSpace(s.printed.String())
}
