package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/grpcwire"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/httpwire"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// benchAction is a kind of call whose latency is counted for itself.
type benchAction int

const (
	benchSend benchAction = iota
	benchReceive
	benchDelete
	benchLife // a message's way from the start of its send to the end of its delete
	benchActions
)

func (a benchAction) String() string {
	return [benchActions]string{"send", "receive", "delete", "life"}[a]
}

// benchPause is how long a client waits after a failure: a server that is gone
// must not turn the generator into a busy loop.
const benchPause = 20 * time.Millisecond

// benchClient is one client of the load: a connection and what it counted. Used
// by one goroutine, except what counts.
type benchClient struct {
	run     *benchRun
	number  int
	conn    *httpwire.Conn
	native  nativeCaller // nil when not connected
	body    []byte       // the request under construction
	entries []benchEntry
	taken   []benchMessage
	ids     [][]byte
	cut     bool // the last receive was not answered

	counting sync.Mutex               // a client with streams has several goroutines
	latency  [benchActions]*histogram // nil until needed
	calls    int64
	errors   map[string]int64
	last     time.Time // end of the last call that was counted
	done     atomic.Int64
	_        [64]byte // done of two clients on one cache line would make them wait for each other
}

// benchEntry is a message to send.
type benchEntry struct {
	group, deduplication, body []byte
}

// benchMessage is a message received.
type benchMessage struct {
	handle, body []byte // valid until the next call on the connection
}

func newBenchClient(run *benchRun, number int) *benchClient {
	c := &benchClient{
		run: run, number: number, errors: map[string]int64{},
		conn:    httpwire.New(run.targets[number%len(run.targets)], run.timeout, run.wire.signer),
		entries: make([]benchEntry, run.flags.batch),
	}
	c.conn.TLS = run.tls
	return c
}

// measured notes how long something took, and how many messages it was about,
// if it began within the measured time.
func (c *benchClient) measured(a benchAction, began, ended time.Time, messages int) {
	if began.Before(c.run.warmEnd) {
		return
	}
	c.counting.Lock()
	defer c.counting.Unlock()
	if c.latency[a] == nil {
		c.latency[a] = &histogram{}
	}
	c.latency[a].record(ended.Sub(began))
	c.last = ended
	c.done.Add(int64(messages))
}

// failed counts what went wrong, during the warm-up, too.
func (c *benchClient) failed(err error) {
	c.counting.Lock()
	defer c.counting.Unlock()
	c.errors[benchCode(err)]++
}

// benchCode is what an error is counted as.
func benchCode(err error) string {
	var refused *benchRefusal
	var lost *httpwire.CutError
	var status *grpcwire.StatusError
	switch {
	case errors.As(err, &status):
		return status.Code.String()
	case errors.As(err, &refused):
		return refused.code
	case errors.As(err, &lost):
		return lost.Code
	}
	return "Unreadable"
}

// benchRefusal is an answer that is no success.
type benchRefusal struct {
	status int
	code   string
	text   string
}

func (e *benchRefusal) Error() string { return e.code + ": " + e.text }

// final reports whether repeating the call cannot help.
func final(err error) bool {
	if status, answered := errorsAsStatus(err); answered {
		return status.Final()
	}
	var refused *benchRefusal
	return errors.As(err, &refused) && refused.status >= 400 && refused.status < 500
}

// call sends one request; every answer other than 200 is an error.
func (c *benchClient) call(ctx context.Context, action string, wait time.Duration) ([]byte, error) {
	c.calls++
	answer, err := c.conn.Call(ctx, action, c.body, wait)
	if err != nil {
		return nil, err
	}
	if answer.Status != 200 {
		return nil, &benchRefusal{answer.Status, answer.Code, string(answer.Body)}
	}
	return answer.Body, nil
}

// send sends the first n entries as one call and returns their message ids,
// which are valid until the next call.
func (c *benchClient) send(ctx context.Context, n int) ([][]byte, error) {
	if c.run.flags.protocol == overGRPC {
		return c.sendNative(ctx, n)
	}
	b := append(c.body[:0], c.run.prefix...)
	action := "SendMessage"
	if c.run.flags.batch == 1 {
		b = append(appendBenchEntry(b, &c.entries[0]), '}')
	} else {
		action = "SendMessageBatch"
		b = append(b, `"Entries":[`...)
		for i := range n {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"Id":"`...)
			b = strconv.AppendInt(b, int64(i), 10)
			b = append(b, `",`...)
			b = append(appendBenchEntry(b, &c.entries[i]), '}')
		}
		b = append(b, "]}"...)
	}
	c.body = b
	answer, err := c.call(ctx, action, 0)
	if err != nil {
		return nil, err
	}
	c.ids = httpwire.TextValues(c.ids[:0], answer, "MessageId")
	if len(c.ids) != n {
		return nil, batchRefusal(answer, n)
	}
	return c.ids, nil
}

// appendBenchEntry writes the members of a message, without escapes: all that
// is sent is plain ASCII made here.
func appendBenchEntry(b []byte, e *benchEntry) []byte {
	b = append(b, `"MessageBody":"`...)
	b = append(b, e.body...)
	b = append(b, `","MessageGroupId":"`...)
	b = append(b, e.group...)
	b = append(b, `","MessageDeduplicationId":"`...)
	b = append(b, e.deduplication...)
	return append(b, '"')
}

// receive asks for up to n messages. They are valid until the next call.
func (c *benchClient) receive(ctx context.Context, n int, waitSeconds int) ([]benchMessage, error) {
	if c.run.flags.protocol == overGRPC {
		return c.receiveNative(ctx, n, waitSeconds)
	}
	b := append(c.body[:0], c.run.prefix...)
	b = append(b, `"MaxNumberOfMessages":`...)
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, `,"WaitTimeSeconds":`...)
	b = strconv.AppendInt(b, int64(waitSeconds), 10)
	c.body = append(b, '}')
	answer, err := c.call(ctx, "ReceiveMessage", time.Duration(waitSeconds)*time.Second)
	if err != nil {
		return nil, err
	}
	c.taken = c.taken[:0]
	c.ids = httpwire.TextValues(c.ids[:0], answer, "ReceiptHandle")
	for _, handle := range c.ids {
		c.taken = append(c.taken, benchMessage{handle: handle})
	}
	c.ids = httpwire.TextValues(c.ids[:0], answer, "Body")
	if len(c.ids) != len(c.taken) || len(c.ids) > n {
		return nil, fmt.Errorf("%s and %s, asked for %s", plural.Count(len(c.taken), "handle", "handles"), plural.Count(len(c.ids), "body", "bodies"), plural.Count(n, "message", "messages"))
	}
	for i, body := range c.ids {
		c.taken[i].body = body
	}
	return c.taken, nil
}

// buildDelete prepares the deletion of what was received last; it copies the
// handles, so that the call may be repeated.
func (c *benchClient) buildDelete(messages []benchMessage) (action string) {
	if c.run.flags.protocol == overGRPC {
		return c.buildNativeDelete(messages)
	}
	b := append(c.body[:0], c.run.prefix...)
	if c.run.flags.batch == 1 {
		b = append(b, `"ReceiptHandle":"`...)
		b = append(b, messages[0].handle...)
		c.body = append(b, `"}`...)
		return "DeleteMessage"
	}
	b = append(b, `"Entries":[`...)
	for i := range messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"Id":"`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `","ReceiptHandle":"`...)
		b = append(b, messages[i].handle...)
		b = append(b, `"}`...)
	}
	c.body = append(b, "]}"...)
	return "DeleteMessageBatch"
}

// delete sends what buildDelete prepared for n messages.
func (c *benchClient) delete(ctx context.Context, action string, n int) error {
	if c.run.flags.protocol == overGRPC {
		return c.deleteNative(ctx, action, n)
	}
	answer, err := c.call(ctx, action, 0)
	if err != nil || c.run.flags.batch == 1 {
		return err
	}
	c.ids = httpwire.TextValues(c.ids[:0], answer, "Code")
	if len(c.ids) > 0 {
		return batchRefusal(answer, n)
	}
	c.ids = httpwire.TextValues(c.ids[:0], answer, "Id")
	if len(c.ids) != n {
		return batchRefusal(answer, n)
	}
	return nil
}

// insist repeats a call that failed until it succeeds, is refused for good, or
// ctx ends. It is for calls that may be repeated: sends with a deduplication
// id and deletes.
func (c *benchClient) insist(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || ctx.Err() != nil || final(err) {
			if err != nil && ctx.Err() == nil {
				c.failed(err)
			}
			return err
		}
		c.failed(err)
		benchRest(ctx, benchPause)
	}
}

// benchRest waits, or until ctx ends.
func benchRest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
