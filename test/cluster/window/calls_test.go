package window

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

const (
	waitMax   = 5 * time.Minute  // for a call with all its repetitions
	callLimit = 10 * time.Second // for one try
	batchSize = 10
)

// caller makes calls to the nodes of a cluster in turn. It makes the JSON itself, because with ten
// million messages the SDK would take most of the time. Safe for concurrent use.
type caller struct {
	cluster *harness.Cluster
	client  http.Client
}

func newCaller(c *harness.Cluster) *caller {
	return &caller{cluster: c, client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}, Timeout: callLimit}}
}

// call repeats a call at the next node until it succeeds. All calls made with it can be repeated.
func (c *caller) call(ctx context.Context, action string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, waitMax)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	for {
		answer, err := c.try(ctx, action, body)
		if err == nil {
			if out == nil {
				return nil
			}
			return json.Unmarshal(answer, out)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w, last: %w", action, ctx.Err(), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *caller) try(ctx context.Context, action string, body []byte) ([]byte, error) {
	node := c.cluster.Next()
	if !node.Running() {
		return nil, fmt.Errorf("%s does not run", node.Name)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+node.Client+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	response, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", response.Status, answer)
	}
	return answer, err
}

func urlOf(queue string) string { return "http://127.0.0.1/000000000000/" + queue }

func (c *caller) create(ctx context.Context, queue string, attributes map[string]string) error {
	all := map[string]string{"FifoQueue": "true"}
	maps.Copy(all, attributes)
	return c.call(ctx, "CreateQueue", map[string]any{"QueueName": queue, "Attributes": all}, nil)
}

func (c *caller) purge(ctx context.Context, queue string) error {
	return c.call(ctx, "PurgeQueue", map[string]string{"QueueUrl": urlOf(queue)}, nil)
}

// resize sets the window of a queue, in seconds.
func (c *caller) resize(ctx context.Context, queue string, seconds int64) error {
	attributes := map[string]string{"DeduplicationWindowSeconds": strconv.FormatInt(seconds, 10)}
	return c.call(ctx, "SetQueueAttributes", map[string]any{"QueueUrl": urlOf(queue), "Attributes": attributes}, nil)
}

// accepted is the answer to a send.
type accepted struct {
	MessageID      string `json:"MessageId"`
	SequenceNumber string
}

// send sends messages with these ids, at most batchSize of them.
func (c *caller) send(ctx context.Context, queue string, ids ...int) ([]accepted, error) {
	type entry struct {
		ID      string `json:"Id"`
		Body    string `json:"MessageBody"`
		Group   string `json:"MessageGroupId"`
		DedupID string `json:"MessageDeduplicationId"`
	}
	entries := make([]entry, len(ids))
	for i, id := range ids {
		name := strconv.Itoa(id)
		entries[i] = entry{strconv.Itoa(i), "body of " + name, "group-" + strconv.Itoa(id%groups), "deduplication-id-" + name}
	}
	var out struct {
		Successful []struct {
			ID string `json:"Id"`
			accepted
		}
		Failed []any
	}
	in := map[string]any{"QueueUrl": urlOf(queue), "Entries": entries}
	if err := c.call(ctx, "SendMessageBatch", in, &out); err != nil {
		return nil, err
	}
	answers := make([]accepted, len(ids))
	for _, s := range out.Successful {
		i, err := strconv.Atoi(s.ID)
		if err != nil || i >= len(answers) {
			return nil, fmt.Errorf("an answer to the entry %q, which was not sent", s.ID)
		}
		answers[i] = s.accepted
	}
	if len(out.Successful) != len(ids) {
		return nil, fmt.Errorf("%d of %d entries failed: %v", len(out.Failed), len(ids), out.Failed)
	}
	return answers, nil
}

// fill sends the ids from first up to end, and returns the answers for every step-th id. It purges
// the queue now and then, so that only the ids are kept.
func (c *caller) fill(ctx context.Context, queue string, first, end, step int) (map[int]accepted, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, sent atomic.Int64
	next.Store(int64(first))
	samples := make(chan map[int]accepted, workers) // one from each worker
	for range workers {
		go func() {
			own := map[int]accepted{}
			for ctx.Err() == nil {
				from := int(next.Add(batchSize)) - batchSize
				if from >= end {
					break
				}
				if err := c.fillBatch(ctx, queue, from, min(from+batchSize, end), step, own); err != nil {
					cancel(err)
				}
				if n := sent.Add(batchSize); n%purgeEvery < batchSize {
					if err := c.purge(ctx, queue); err != nil {
						cancel(err)
					}
				}
			}
			samples <- own
		}()
	}
	all := map[int]accepted{}
	for range workers {
		maps.Copy(all, <-samples)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return all, c.purge(ctx, queue)
}

func (c *caller) fillBatch(ctx context.Context, queue string, from, to, step int, samples map[int]accepted) error {
	ids := make([]int, 0, batchSize)
	for id := from; id < to; id++ {
		ids = append(ids, id)
	}
	answers, err := c.send(ctx, queue, ids...)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if id%step == 0 {
			samples[id] = answers[i]
		}
	}
	return nil
}
