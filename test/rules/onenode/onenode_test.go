package onenode

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

var (
	callsFlag = flag.Int("calls", 400, "how many calls to make")
	seedFlag  = flag.Uint64("seed", 1, "seed of the first list of calls; the next lists have the next seeds")
)

// listLength is the number of calls to one set of queues.
const listLength = 200

// node is the tested node. Each list of calls uses its own queues.
type node struct {
	address string
	lists   atomic.Int64
}

func startNode(t *testing.T) *node {
	t.Helper()
	binary, err := harness.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cluster := harness.New(t, harness.Options{Binary: binary, Nodes: 1})
	return &node{address: cluster.Nodes[0].Client}
}

// world is a list of calls that is being made: new queues, and a model with only these.
type world struct {
	node    *node
	prefix  string
	model   *reference.Broker
	oracle  *oracle.Oracle
	handles map[int][]string // by step
}

// begin creates the queues of a list. Log time is the node's; the model starts with that of the
// first answer.
func (n *node) begin(ctx context.Context, bugs ...reference.Bug) (*world, error) {
	model := reference.New(bugs...)
	model.SetSetting("minimum-window-seconds", "1")
	w := &world{
		node: n, prefix: fmt.Sprintf("l%d-", n.lists.Add(1)), model: model, oracle: oracle.New(model), handles: map[int][]string{},
	}
	w.oracle.Blind = true
	for i := range kinds {
		attributes := kinds[i].attributes
		if i == redriven {
			policy := fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:%s:%s","maxReceiveCount":2}`, account, w.queue(0))
			attributes = append(slices.Clip(attributes), queue.Attribute{Name: "RedrivePolicy", Value: policy})
		}
		if err := w.check(ctx, &queue.CreateQueue{Queue: w.queue(i), Attributes: attributes}, nil); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *world) queue(kind int) string { return w.prefix + kinds[kind].name }

// check makes a call and compares its answer with the model's.
func (w *world) check(ctx context.Context, cmd queue.Command, got func(queue.Result)) error {
	a, err := call(ctx, w.node.address, cmd)
	if err != nil {
		return err
	}
	_, difference := w.oracle.Check(max(a.at, w.model.Now()), cmd, a.result, a.refusal)
	if difference != nil {
		return &wrong{difference}
	}
	if got != nil && a.refusal == nil {
		got(a.result)
	}
	return nil
}

// wrong is a difference between node and model. Other errors mean that a call could not be made.
type wrong struct{ *oracle.Difference }

func (w *wrong) Error() string { return w.Invariant + ": " + w.Text }

// do makes one call. It returns the number of messages of a receive.
func (w *world) do(ctx context.Context, s step) (messages int, err error) {
	if s.wait > 0 {
		timer := time.NewTimer(s.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	err = w.check(ctx, w.command(s), func(r queue.Result) {
		received, ok := r.(queue.MessagesReceived)
		if !ok {
			return
		}
		messages = len(received.Messages)
		for i := range received.Messages {
			w.handles[s.id] = append(w.handles[s.id], received.Messages[i].Handle.String())
		}
	})
	return messages, err
}

func (w *world) command(s step) queue.Command {
	name := w.queue(s.kind)
	switch s.do {
	case sends:
		cmd := &queue.SendMessages{Queue: name, SenderID: account, Batch: s.batch}
		for _, e := range s.entries {
			cmd.Entries = append(cmd.Entries, queue.SendEntry{
				Body: e.body, GroupID: e.group, GroupIDGiven: true, DeduplicationID: e.dedup, DeduplicationIDGiven: e.dedup != "",
			})
		}
		return cmd
	case receives:
		return &queue.ReceiveMessages{
			Queue: name, MaxMessages: queue.Some(s.most), VisibilityTimeout: queue.Some(s.timeout),
			AttemptID: s.attempt, AttemptIDGiven: s.attempt != "", ShortPoll: true,
		}
	case deletes:
		cmd := &queue.DeleteMessages{Queue: name, Batch: s.batch}
		for _, e := range s.entries {
			cmd.Handles = append(cmd.Handles, w.handle(e))
		}
		return cmd
	case changes:
		cmd := &queue.ChangeMessageVisibility{Queue: name, Batch: s.batch}
		for _, e := range s.entries {
			cmd.Entries = append(cmd.Entries, queue.VisibilityEntry{Handle: w.handle(e), VisibilityTimeout: queue.Some(e.timeout)})
		}
		return cmd
	case purges:
		return &queue.PurgeQueue{Queue: name}
	case settings:
		return &queue.SetQueueAttributes{Queue: name, Attributes: s.set}
	default:
		return &queue.CreateQueue{Queue: name, Attributes: s.set}
	}
}

// handle returns the handle of an earlier delivery, or one that was never issued.
func (w *world) handle(e entry) string {
	text := strings.Repeat("0", 56)
	if list := w.handles[e.from]; e.place < len(list) {
		text = list[e.place]
	}
	if e.flipped {
		other := "0"
		if text[0] == '0' {
			other = "1"
		}
		return other + text[1:]
	}
	return text
}

// TestOneNode makes random calls and shrinks the first list that fails.
func TestOneNode(t *testing.T) {
	n := startNode(t)
	calls := 0
	for seed := *seedFlag; calls < *callsFlag; seed++ {
		steps, err := generate(t.Context(), n, seed, min(listLength, *callsFlag-calls))
		calls += len(steps)
		if err != nil {
			t.Fatal(report(t.Context(), n, seed, steps, err))
		}
	}
	t.Logf("%d calls without a difference", calls)
}

// generate makes a random list, and returns the calls that were made.
func generate(ctx context.Context, n *node, seed uint64, length int, bugs ...reference.Bug) ([]step, error) {
	w, err := n.begin(ctx, bugs...)
	if err != nil {
		return nil, err
	}
	g := newGenerator(seed)
	var steps []step
	for range length {
		s := g.step()
		steps = append(steps, s)
		messages, err := w.do(ctx, s)
		if err != nil {
			return steps, err
		}
		g.saw(s, messages)
	}
	return steps, nil
}

// shrinkMax bounds the time for shortening a failing list.
const shrinkMax = 150

// shrink removes steps from a failing list as long as the rest still fails.
func shrink(ctx context.Context, n *node, steps []step, found error, bugs ...reference.Bug) ([]step, error) {
	runs := 0
	for size := (len(steps) + 1) / 2; size >= 1; size /= 2 {
		for from := len(steps) - size; from > -size; from -= size {
			if runs++; runs > shrinkMax {
				return steps, found
			}
			rest := append([]step(nil), steps[:max(from, 0)]...)
			rest = append(rest, steps[from+size:]...)
			played, err := play(ctx, n, rest, bugs...)
			if difference := (*wrong)(nil); errors.As(err, &difference) {
				steps, found = rest[:played], err
				from = min(from, len(steps))
			}
		}
	}
	return steps, found
}

// play makes the calls of a list until one fails, and returns how many it made.
func play(ctx context.Context, n *node, steps []step, bugs ...reference.Bug) (int, error) {
	w, err := n.begin(ctx, bugs...)
	if err != nil {
		return 0, err
	}
	for i, s := range steps {
		if _, err := w.do(ctx, s); err != nil {
			return i + 1, err
		}
	}
	return len(steps), nil
}

func report(ctx context.Context, n *node, seed uint64, steps []step, found error) string {
	if difference := (*wrong)(nil); errors.As(found, &difference) {
		steps, found = shrink(ctx, n, steps, found)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d: node and model differ. The shortest list found:\n", seed)
	for _, s := range steps {
		fmt.Fprintf(&text, "%s\n", s)
	}
	fmt.Fprintf(&text, "%v\n", found)
	return text.String()
}

// TestShrinks gives the model a bug. The difference must be found, and the list must become short.
func TestShrinks(t *testing.T) {
	n := startNode(t)
	for seed := uint64(1); seed <= 20; seed++ {
		steps, err := generate(t.Context(), n, seed, listLength, reference.ReplayNewHandles)
		difference := (*wrong)(nil)
		if err == nil {
			continue
		}
		if !errors.As(err, &difference) {
			t.Fatal(err)
		}
		short, err := shrink(t.Context(), n, steps, err, reference.ReplayNewHandles)
		if !errors.As(err, &difference) || difference.Invariant != "I6" || len(short) > 10 {
			t.Errorf("seed %d: %d steps became %d: %v", seed, len(steps), len(short), err)
		}
		return
	}
	t.Error("no list showed the planted bug")
}
