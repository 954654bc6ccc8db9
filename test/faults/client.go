package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// tryTimeout ends a call, whose outcome is then unknown.
const tryTimeout = 2 * time.Second

// Headers: the place of an answer in the log, and the operation's id for a fault build.
const (
	headerOpID    = "Seriatim-Op-Id"
	headerIndex   = "X-Seriatim-Index"
	headerLogTime = "X-Seriatim-Log-Time"
)

// client makes calls and writes each try down. Used by one goroutine.
type client struct {
	recorder *history.Recorder
	nodes    []*harness.Node
	random   *rand.Rand
	http     *http.Client
	number   int
	workload string
	suffix   string        // of its queue's name, by the part of a long run
	pace     time.Duration // longest think time
	counter  int
	rules    history.Rules
	stock    *stock // of the workload that has one
	native   map[string]*grpc.ClientConn
	since    int64   // when its node was cut off from the others, 0 if it is not
	access   *access // nil: in clear text and unsigned
	logTime  int64   // the latest one of an answer, milliseconds since 1970
}

func (s *testbed) newClient(number int, workload string) *client {
	dialer := net.Dialer{Timeout: time.Second}
	return &client{
		recorder: s.recorder, nodes: s.cluster.Nodes, number: number + 1000*s.part, workload: workload, suffix: s.suffix(), pace: s.pace,
		rules: s.rules, access: s.access,
		random: rand.New(rand.NewPCG(s.seed, uint64(number+1000*s.part))),
		http: &http.Client{Timeout: tryTimeout,
			Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: s.access.config()}},
	}
}

// close ends the connections that the client keeps.
func (c *client) close() {
	c.http.CloseIdleConnections()
	for _, conn := range c.native {
		_ = conn.Close() // nothing is under way
	}
}

// body returns a unique body that contains its own checksum. Most bodies are small.
func (c *client) body() string {
	c.counter++
	size := c.random.IntN(300)
	if c.random.IntN(10) == 0 {
		size = c.random.IntN(6000)
	}
	return c.bodyOf(size)
}

func (c *client) bodyOf(size int) string {
	text := fmt.Sprintf("%d-%d-%s", c.number, c.counter, strings.Repeat("x", size))
	return fmt.Sprintf("%s-%08x", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

// keyOf is the deduplication id of a body: client and counter.
func keyOf(body string) string {
	parts := strings.SplitN(body, "-", 3)
	return parts[0] + "-" + parts[1]
}

// answer has the fields of all answers that the workloads look at.
type answer struct {
	Type             string `json:"__type"`
	Text             string `json:"message"`
	QueueURL         string `json:"QueueUrl"`
	MessageID        string `json:"MessageId"`
	BodyDigest       string `json:"MD5OfMessageBody"`
	AttributesDigest string `json:"MD5OfMessageAttributes"`
	SequenceNumber   string
	Messages         []answeredMessage
	Successful       []struct {
		ID               string `json:"Id"`
		MessageID        string `json:"MessageId"`
		SequenceNumber   string
		BodyDigest       string `json:"MD5OfMessageBody"`
		AttributesDigest string `json:"MD5OfMessageAttributes"`
	}
	Failed []struct {
		ID   string `json:"Id"`
		Code string
	}
	Attributes map[string]string
}

type answeredMessage struct {
	MessageID         string `json:"MessageId"`
	Body              string
	BodyDigest        string `json:"MD5OfBody"`
	ReceiptHandle     string
	Attributes        map[string]string
	MessageAttributes map[string]wireAttribute
	AttributesDigest  string `json:"MD5OfMessageAttributes"`
}

// do makes one call and classifies its result. sent is false if no byte was sent, so that the call
// need not be recorded.
func (c *client) do(ctx context.Context, node *harness.Node, action string, in map[string]any, e *history.Event) (out answer, sent bool) {
	payload, err := json.Marshal(in)
	if err != nil {
		panic(err) // a map of strings and numbers always has a JSON form
	}
	return c.post(ctx, node, action, payload, e)
}

// post is do for a request that is ready.
func (c *client) post(ctx context.Context, node *harness.Node, action string, payload []byte, e *history.Event) (out answer, sent bool) {
	status, text, sent := c.exchange(ctx, node,
		map[string]string{"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action}, payload, e)
	if status == 0 {
		return out, sent
	}
	// A body that is not JSON leaves type and text empty, so the result is unknown.
	_ = json.Unmarshal(text, &out)
	e.Result, e.Error = classify(status, out)
	return out, true
}

// begin fills in the part of an event that is known before the call.
func (c *client) begin(node *harness.Node, e *history.Event) {
	e.Kind, e.Client, e.Workload, e.Node = history.KindOp, c.number, c.workload, node.Name
	e.ID, e.Call, e.Since = c.recorder.Next(), c.recorder.Now(), c.since
}

// exchange makes one call over HTTP. Its status is 0 if there was no whole answer.
func (c *client) exchange(ctx context.Context, node *harness.Node, header map[string]string, payload []byte, e *history.Event) (status int,
	text []byte, sent bool) {
	c.begin(node, e)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.access.scheme()+"://"+node.Client+"/", bytes.NewReader(payload))
	if err != nil {
		return 0, nil, false
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	request.Header.Set(headerOpID, e.OpID())
	c.access.sign(request, string(payload))
	response, err := c.http.Do(request)
	e.Result, e.Return = history.Unknown, c.recorder.Now()
	if err != nil {
		e.Error = "no answer"
		var dial *net.OpError
		return 0, nil, !errors.As(err, &dial) || dial.Op != "dial"
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	e.Return = c.recorder.Now()
	if err != nil {
		e.Error = "the answer broke off"
		return 0, nil, true
	}
	c.placed(e, response.Header.Get(headerIndex), response.Header.Get(headerLogTime))
	return response.StatusCode, text, true
}

// placed records the place in the log that an answer names. Answers that did not pass the log name
// none.
func (c *client) placed(e *history.Event, index, logTime string) {
	e.Index, _ = strconv.ParseUint(index, 10, 64)
	e.LogTime, _ = strconv.ParseInt(logTime, 10, 64)
	c.logTime = max(c.logTime, e.LogTime)
}

// classify returns what a client may conclude from an answer. A call has failed only if the server
// says that it was not executed.
func classify(status int, a answer) (history.Result, string) {
	code := a.Type[strings.LastIndex(a.Type, "#")+1:]
	switch {
	case status == http.StatusOK:
		return history.OK, ""
	case status >= 400 && status < 500:
		return history.OK, code
	case status == http.StatusServiceUnavailable && code == "ServiceUnavailable" &&
		(strings.Contains(a.Text, "Nothing was written") || strings.Contains(a.Text, "Nothing was received")):
		return history.Fail, code
	}
	return history.Unknown, fmt.Sprintf("%d %s", status, code)
}

func (c *client) any() *harness.Node { return c.nodes[c.random.IntN(len(c.nodes))] }

// url names the queue; every node knows it by its path.
func (c *client) url(queue string) string {
	return c.access.scheme() + "://" + c.nodes[0].Client + "/000000000000/" + queue
}

// think waits for a random time up to the client's pace, and reports whether the run continues.
func (c *client) think(ctx context.Context) bool {
	return pause(ctx, time.Duration(c.random.Int64N(int64(c.pace)+1)))
}

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
