package unauthenticated

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

	"github.com/seriatimq/seriatim/test/kit/attacker"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

// elsewhere is the environment variable with the ports of the nodes. It turns this binary into
// the attacking process. That process has the lowest priority, so that clients and servers lose
// only the time that servers spend on attackers.
const elsewhere = "SERIATIM_TEST_ATTACKER"

// ports contains the ports of a node.
type ports struct{ Client, Admin string }

// try opens a connection and sends something.
type try func(caller)

// tries returns the tries of one second, in random order.
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
		for _, first := range malformed() {
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

// floodFrames is the number of frames in a flood.
const floodFrames = 2_000

// tryElsewhere is the main function of the attacking process. It spreads its tries evenly until
// its standard input ends, holds each connection for a second, and prints a summary.
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
	var callers [20]caller // each has closed its connections before it is used again
	for i := range callers {
		callers[i] = caller{attacker.New(9)}
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

// otherProcess is the attacking process, as seen from the test.
type otherProcess struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.Closer
	printed bytes.Buffer
}

// startElsewhere starts the attacking process.
func startElsewhere(t *testing.T, c *harness.Cluster) *otherProcess {
	t.Helper()
	var nodes []ports
	for _, n := range c.Nodes {
		nodes = append(nodes, ports{n.Client, n.Admin})
	}
	list, err := json.Marshal(nodes)
	harness.Must(t, err)
	s := &otherProcess{t: t, cmd: exec.CommandContext(t.Context(), "nice", "-n", "19", os.Args[0])}
	s.cmd.Env = append(os.Environ(), elsewhere+"="+string(list))
	s.cmd.Stdout, s.cmd.Stderr = &s.printed, &s.printed
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	harness.Must(t, s.cmd.Start())
	return s
}

// finish ends the process and returns its summary.
func (s *otherProcess) finish() string {
	s.t.Helper()
	_ = s.stdin.Close() // the end of the input ends the process
	if err := s.cmd.Wait(); err != nil {
		s.t.Fatalf("the attacking process: %v\n%s", err, s.printed.Bytes())
	}
	return strings.TrimSpace(s.printed.String())
}
