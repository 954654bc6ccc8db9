package faults

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// recovery is the limit of I14 for the time from repair until every node serves.
const recovery = 15 * time.Second

// readTime is the least extra time that nodes get for each parked GiB. With one GiB all nodes start
// within 30 s (I15). On a slower machine the time measured after parking counts (parked.go).
const readTime = 15 * time.Second

// recovery returns the limit of this run. After their start, nodes read the parked messages, or
// receive them if their disk is empty.
func (s *testbed) recovery() time.Duration { return recovery + s.reading }

// sendingRate is the least rate in bytes per second at which a node with an empty disk gets the
// parked messages, as all nodes and clients share a few processors.
const sendingRate = 4 << 20

// joining is the limit for a node with an empty disk.
func (s *testbed) joining() time.Duration {
	if s.backlog == nil {
		return 2 * s.recovery()
	}
	return 2*s.recovery() + time.Duration(float64(s.backlog.bytes)/sendingRate*float64(time.Second))
}

// demand checks I14 for all of the nodes at once, and I15, since a node that does not stay up does
// not serve. It does not end with the load.
func (s *testbed) demand(nodes ...*harness.Node) {
	start := s.recorder.Now()
	ctx, cancel := context.WithTimeout(context.Background(), s.recovery())
	defer cancel()
	var asking sync.WaitGroup
	for _, node := range nodes {
		p := s.newProbe(node)
		asking.Go(func() {
			defer p.close()
			s.recorder.Add(s.demandOf(ctx, p, node, start))
		})
	}
	asking.Wait()
}

// newProbe returns a client that checks whether one node serves. It is used by one goroutine.
func (s *testbed) newProbe(node *harness.Node) *client {
	s.progress.mu.Lock()
	s.progress.probes++
	number := s.progress.probes
	s.progress.mu.Unlock()
	c := s.newClient(900, s.probe.workload)
	// Its own number keeps the bodies and attempt ids of probes unique.
	c.number = 1_000_000*(s.part+1) + number
	c.nodes = []*harness.Node{node}
	return c
}

func (s *testbed) demandOf(ctx context.Context, p *client, node *harness.Node, start int64) history.Event {
	e := history.Event{Kind: history.KindLive, Node: node.Name, Action: history.Send, Call: start, Result: history.Fail,
		Error: "no success"}
	body := p.body()
	for ctx.Err() == nil && e.Result == history.Fail {
		if p.serves(ctx, node, body) {
			e.Result, e.Error = history.OK, ""
		} else if !node.Running() && s.slowDisk(node) {
			continue
		} else if !node.Running() {
			e.Error = "the process ended: " + lastLine(node.LogTail())
			break
		} else {
			pause(ctx, 50*time.Millisecond)
		}
	}
	e.Return = s.recorder.Now()
	return e
}

// slowDisk restarts a node that ended because the machine's disk was too slow, as a supervisor
// would. It reports whether that was the case.
func (s *testbed) slowDisk(node *harness.Node) bool {
	code, err := node.WaitExit(time.Second)
	return err == nil && code == exitHang && node.Start() == nil
}

// serves reports whether a send, a receive and a delete through the node work.
func (c *client) serves(ctx context.Context, node *harness.Node, body string) bool {
	if !c.send(ctx, node, c.queue(), node.Name, keyOf(body), body) {
		return false
	}
	messages, result := c.receive(ctx, node, c.queue(), wanted{most: 10, attempt: c.attempt()})
	if result != history.OK {
		return false
	}
	for _, m := range messages {
		if !c.remove(ctx, node, c.queue(), m.Handle, m.ID) {
			return false
		}
	}
	return true
}

// steady checks the second half of I14: until ctx ends the nodes serve without interruption, and
// leadership moves at most once.
func (s *testbed) steady(ctx context.Context, nodes []*harness.Node) {
	e := history.Event{Kind: history.KindSteady, Call: s.recorder.Now()}
	for pause(ctx, time.Second) {
		s.demand(nodes...)
	}
	e.Return = s.recorder.Now()
	s.recorder.Add(e)
}

// minorityTimeout bounds a call to a node that is cut off. The node must refuse much earlier.
const minorityTimeout = 15 * time.Second

// minorityClients is the number of concurrent clients of each isolated node. Most of their calls
// take the whole request-timeout.
const minorityClients = 3

// askMinority calls nodes that clients reach but other nodes do not, until ctx ends. All calls must
// be answered before the network is repaired.
func (s *injection) askMinority(ctx context.Context) {
	if s.testbed.probe == nil {
		return
	}
	since := s.testbed.recorder.Now()
	var asking sync.WaitGroup
	for _, node := range slices.Repeat(s.nodes, minorityClients) {
		c := s.testbed.newProbe(node)
		c.since = since
		c.http.Timeout = minorityTimeout
		asking.Go(func() {
			defer c.close()
			queue := c.queue()
			c.workload = history.Minority
			for i := 0; pause(ctx, 500*time.Millisecond); i++ {
				// The end of the fault must not end a call.
				if i%2 == 0 {
					body := c.body()
					c.send(context.WithoutCancel(ctx), node, queue, history.Minority, keyOf(body), body)
				} else {
					c.receive(context.WithoutCancel(ctx), node, queue, wanted{most: 1, attempt: c.attempt()})
				}
			}
		})
	}
	asking.Wait()
}

// ranOnce records that a fault was injected and repaired.
func (s *testbed) ranOnce(name string) {
	s.progress.mu.Lock()
	defer s.progress.mu.Unlock()
	if !slices.Contains(s.progress.ran, name) {
		s.progress.ran = append(s.progress.ran, name)
	}
}
