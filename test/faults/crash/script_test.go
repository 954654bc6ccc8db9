package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

var (
	long    = flag.Bool("long", false, "the whole script and every state")
	seed    = flag.Uint64("seed", 1, "of the script and of what a power cut keeps")
	workers = flag.Int("workers", 2, "directories that are tried at a time")
	bodies  = flag.String("bodies", "",
		"where the nodes have the bodies of messages: segments or memory; empty: where the product has them")
)

// waitMax bounds a wait on a slow, shared machine.
const waitMax = time.Minute

// settings make files small, and snapshots, new log files and truncations of the log frequent.
var settings = []string{
	"--log-segment-size", "64KiB", "--log-cache-size", "16KiB", "--snapshot-log-size", "24KiB", "--trailing-log-size", "8KiB",
}

// nodeSettings returns the settings of the nodes with their body store. Segments are small, and
// almost no bodies stay in memory.
func nodeSettings(more ...string) []string {
	all := append(slices.Clone(settings), "--body-segment-size", "24KiB", "--body-cache-size", "1KiB")
	if *bodies != "" {
		all = append(all, "--body-store", *bodies)
	}
	if keyFile != "" {
		all = append(all, "--encryption-key-file", keyFile)
	}
	return append(all, more...)
}

// durable is a state that the node confirmed at a position of the journal. It must survive a power
// cut at any later position.
type durable struct {
	position int
	index    uint64 // every entry up to this one was acknowledged
	ballot
}

// recording is a run that was not interrupted.
type recording struct {
	events   []event
	durables []durable
	hashes   map[uint64]string // of the state at some indexes
}

// script works on a cluster of which one node is recorded.
type script struct {
	t        *testing.T
	cluster  *harness.Cluster
	node     *harness.Node // recorded
	asked    *harness.Node // the leader, whose status has the confirmed index
	vote     ballot        // the last vote that the recorded node certainly gave
	silent   bool          // the recorded node is down and confirms nothing
	journal  *journal
	random   *rand.Rand
	made     recording
	handles  []string
	sequence int
}

// call makes one request to the leader, and repeats it until it is answered.
func (s *script) call(action string, in map[string]any) map[string]any {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitMax)
	defer cancel()
	payload, err := json.Marshal(in)
	must(s.t, err)
	for {
		out, err := post(ctx, s.asked, action, payload)
		if err == nil {
			return out
		}
		if ctx.Err() != nil {
			s.t.Fatalf("%s: %v", action, err)
		}
	}
}

func post(ctx context.Context, node *harness.Node, action string, payload []byte) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+node.Client+"/", bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	// A refusal by a rule is an answer, too.
	if response.StatusCode >= 500 {
		return nil, fmt.Errorf("%d %s", response.StatusCode, text)
	}
	var out map[string]any
	if len(text) > 0 {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// note records the durable state: the recorded node has confirmed everything that the leader
// applied.
func (s *script) note() {
	s.t.Helper()
	if s.silent {
		return
	}
	status, err := s.asked.Status(s.t.Context())
	must(s.t, err)
	s.made.hashes[status.AppliedIndex] = status.StateHash
	s.vote.term = status.Term
	s.made.durables = append(s.made.durables, durable{s.journal.position(), status.AppliedIndex, s.vote})
}

// confirm makes one more entry, with which the recorded node has everything before it. Earlier
// entries may have been confirmed only by others.
func (s *script) confirm() {
	s.t.Helper()
	s.call("SendMessage", map[string]any{
		"QueueUrl": s.url(), "MessageGroupId": "confirm", "MessageDeduplicationId": fmt.Sprint("confirm-", s.sequence),
		"MessageBody": "confirm",
	})
	s.note()
}

func (s *script) url() string { return "http://" + s.node.Client + "/000000000000/" + queueName }

const queueName = "crash.fifo"

// step makes one operation and records the durable state after it.
func (s *script) step() {
	url := s.url()
	s.sequence++
	switch n := s.random.IntN(20); {
	case n < 9:
		id := fmt.Sprint(s.random.IntN(40)) // some are duplicates
		s.call("SendMessage", map[string]any{
			"QueueUrl": url, "MessageGroupId": fmt.Sprint(s.random.IntN(4)), "MessageDeduplicationId": id,
			"MessageBody": strings.Repeat("x", 1+s.random.IntN(2000)),
		})
	case n < 13:
		in := map[string]any{"QueueUrl": url, "MaxNumberOfMessages": 1 + s.random.IntN(10),
			"ReceiveRequestAttemptId": fmt.Sprint(s.sequence)}
		messages, _ := s.call("ReceiveMessage", in)["Messages"].([]any)
		for _, m := range messages {
			s.handles = append(s.handles, m.(map[string]any)["ReceiptHandle"].(string))
		}
	case n < 17 && len(s.handles) > 0:
		i := s.random.IntN(len(s.handles))
		s.call("DeleteMessage", map[string]any{"QueueUrl": url, "ReceiptHandle": s.handles[i]})
		s.handles = append(s.handles[:i], s.handles[i+1:]...)
	case n < 19 && len(s.handles) > 0:
		handle := s.handles[s.random.IntN(len(s.handles))]
		s.call("ChangeMessageVisibility",
			map[string]any{"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": s.random.IntN(2) * 100})
	default:
		s.call("SetQueueAttributes", map[string]any{"QueueUrl": url,
			"Attributes": map[string]string{"VisibilityTimeout": fmt.Sprint(1 + s.random.IntN(1000))}})
	}
	s.note()
}

// begin creates the queue. It records no durable state, because the majority for the queue may not
// include the recorded node.
func (s *script) begin() {
	s.call("CreateQueue", map[string]any{"QueueName": queueName, "Attributes": map[string]string{"FifoQueue": "true"}})
}
