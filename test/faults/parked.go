package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/oracle/check"
)

// parkedQueue contains the backlog of a run. Its calls are neither in the history nor in the
// reference model, which would both keep millions of messages in memory.
const parkedQueue = "parked.fifo"

// parkedSettings override settings if there is a backlog, because every snapshot lists all parked
// messages and a power cut opens every file.
var parkedSettings = []string{
	"--log-segment-size", "1MiB", "--snapshot-log-size", "1MiB", "--trailing-log-size", "256KiB", "--body-segment-size", "8MiB",
	"--snapshot-rate", "256MiB",
	"--body-scrub-rate", fmt.Sprint(parkedScrubRate) + "B",
}

// parkedScrubRate is the rate at which nodes check parked bodies, in bytes per second.
const parkedScrubRate = 16 << 20

// seldomSnapshots are settings for parking and draining the backlog, which write over a hundred
// times as much to the log as the clients of a soak do.
var seldomSnapshots = []string{"--snapshot-log-size", "128MiB", "--trailing-log-size", "16MiB"}

// fillTime bounds how long a run parks its messages, and how long it receives them at the end.
// giveBackTime bounds how long the nodes may then take to free the space.
const (
	fillTime     = 20 * time.Minute
	giveBackTime = 3 * time.Minute
)

// diskBytes returns the size of a disk. A node that installs one snapshot after another keeps three
// copies of all bodies for a while.
func (r Run) diskBytes() int64 { return disk.DefaultBytes + 4*r.Backlog }

// parked is the backlog of a run: messages in a queue while the cluster is broken around it, which
// are received at the end. Each acknowledged one must come exactly once, with its body and id, in
// the order of its group, and no other may come. Used by one goroutine.
type parked struct {
	testbed  *testbed
	account  *account
	url      string // of the queue
	progress io.Writer
	bytes    int64                   // of all bodies
	clients  map[string]*http.Client // by node, each with connections of its own
	sizes    map[string]int64        // bytes of segment files by node, after all messages were parked
	short    []string                // checks that are missing and not reported yet
	reported int                     // problems already reported
}

// park fills the queue before any fault.
func (r Run) park(ctx context.Context, s *testbed) error {
	if r.Backlog == 0 {
		return nil
	}
	s.reading = time.Duration(float64(readTime) * float64(r.Backlog) / (1 << 30))
	p := &parked{testbed: s, account: newAccount(parkedGroups, parkedBytes), progress: r.Progress, bytes: r.Backlog,
		clients: map[string]*http.Client{}}
	for _, n := range s.cluster.Nodes {
		p.clients[n.Name] = &http.Client{Timeout: tryTimeout,
			Transport: &http.Transport{TLSClientConfig: s.access.config(), MaxIdleConnsPerHost: 8}}
	}
	ctx, cancel := context.WithTimeout(ctx, fillTime)
	defer cancel()
	s.probe = s.newClient(900, "parked")
	p.url = s.probe.url(parkedQueue)
	s.probe.close()
	if err := p.create(ctx); err != nil {
		return err
	}
	if err := p.restart(ctx, seldomSnapshots...); err != nil {
		return err
	}
	if err := p.fill(ctx, r.Backlog); err != nil {
		return fmt.Errorf("park messages: %w", err)
	}
	s.backlog = p
	began := time.Now()
	if err := p.restart(ctx); err != nil {
		return err
	}
	// The nodes read in parallel, which takes about as long as one after the other, and a shared
	// machine may become half as fast within minutes.
	s.reading = max(s.reading, 2*time.Since(began))
	return p.count(ctx)
}

// restart ends every node and starts it with further arguments, one after the other.
func (p *parked) restart(ctx context.Context, extra ...string) error {
	for _, n := range p.testbed.cluster.Nodes {
		if err := errors.Join(n.Stop(fillTime), n.Start(extra...), n.WaitReady(ctx, fillTime)); err != nil {
			return fmt.Errorf("restart %s: %w", n.Name, err)
		}
	}
	return nil
}

func (p *parked) create(ctx context.Context) error {
	attributes := map[string]string{
		"FifoQueue": "true", "VisibilityTimeout": fmt.Sprint(int(parkedHidden.Seconds())), "MessageRetentionPeriod": "1209600",
	}
	for {
		err := p.call(ctx, nil, "CreateQueue", map[string]any{"QueueName": parkedQueue, "Attributes": attributes}, &struct{}{})
		if err == nil || !pause(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

// call makes one call through a node, nil for any. It has no operation id, so the checkers do not
// expect it in the history.
func (p *parked) call(ctx context.Context, n *harness.Node, action string, in, out any) error {
	if n == nil {
		n = p.testbed.cluster.Next()
	}
	payload, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.testbed.access.scheme()+"://"+n.Client+"/", bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	p.testbed.access.sign(request, string(payload))
	response, err := p.clients[n.Name].Do(request)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s through %s: HTTP %d %.200s", action, n.Name, response.StatusCode, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s through %s: %w", action, n.Name, err)
	}
	return nil
}

// count compares the account with the queue's counters at every node, while no client works.
func (p *parked) count(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	for _, n := range p.testbed.cluster.Nodes {
		if err := p.countAt(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// finish receives and deletes all parked messages, and waits until the nodes have freed the space.
func (p *parked) finish(ctx context.Context) error {
	p.sizes = p.segments()
	draining, cancel := context.WithTimeout(ctx, fillTime)
	defer cancel()
	if err := p.restart(draining, seldomSnapshots...); err != nil {
		return err
	}
	if err := p.drain(draining); err != nil {
		return err
	}
	if err := errors.Join(p.count(ctx), p.restart(ctx)); err != nil {
		return err
	}
	return p.shrink(ctx)
}

// segments returns the bytes of segment files by node.
func (p *parked) segments() map[string]int64 {
	sizes := map[string]int64{}
	for _, n := range p.testbed.cluster.Nodes {
		files, err := disk.Files(n.DataDir, disk.ClassBodies)
		if err != nil {
			continue // it has none
		}
		for _, file := range files {
			// A file that was removed meanwhile takes no space.
			used, _ := disk.Allocated(file)
			sizes[n.Name] += used
		}
	}
	return sizes
}

// shrinkTo is the fraction of its segment files that a node may keep after all messages were
// deleted, 1/shrinkTo: the newest file is never removed, and other queues of the run have messages.
const shrinkTo = 20

// shrink writes to the log, so that the nodes take snapshots, until their segment files are small.
func (p *parked) shrink(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, giveBackTime)
	defer cancel()
	tags := map[string]string{}
	for i := range 40 {
		tags[fmt.Sprint("tag-", i)] = strings.Repeat("x", 200)
	}
	for {
		var large []string
		now := p.segments()
		for _, n := range p.testbed.cluster.Nodes {
			if now[n.Name] > p.sizes[n.Name]/shrinkTo {
				large = append(large, fmt.Sprintf("%s keeps %d MiB of %d MiB", n.Name, now[n.Name]>>20, p.sizes[n.Name]>>20))
			}
		}
		if len(large) == 0 {
			return nil
		}
		for range 20 {
			// A failure does not matter: more calls follow.
			_ = p.call(ctx, nil, "TagQueue", map[string]any{"QueueUrl": p.url, "Tags": tags}, &struct{}{})
		}
		if !pause(ctx, 10*time.Millisecond) {
			p.account.complain("segment files: %s after everything was deleted", strings.Join(large, ", "))
			return nil
		}
	}
}

// report adds the results of the backlog to the report of a part.
func (p *parked) report(r *check.Report) {
	if p == nil {
		return
	}
	problems := p.account.all()
	for _, problem := range problems[min(p.reported, len(problems)):] {
		r.Violations = append(r.Violations,
			check.Violation{Invariant: "I1", Checker: "backlog", Text: problem, At: p.testbed.recorder.Now()})
	}
	p.reported = len(problems)
	acked, deleted := p.account.totals()
	r.Counts["backlog: messages acknowledged"], r.Counts["backlog: messages received and deleted"] = acked, deleted
	r.Counts["backlog: messages received again"] = p.account.again
	for _, short := range p.short {
		r.Leave("backlog: %s", short)
	}
	p.short = nil
	for node, size := range p.sizes {
		r.Counts["backlog: MiB of segment files of "+node] = int(size >> 20)
	}
}

// look checks the backlog after a part of the run: the counters, or after the last part every
// message.
func (p *parked) look(ctx context.Context, last bool) {
	if p == nil {
		return
	}
	err := p.count(ctx)
	if err == nil && last {
		err = p.finish(ctx)
	}
	if err != nil {
		p.short = append(p.short, err.Error())
	}
}
