package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/auth/sigv4"
)

const dialTime = 5 * time.Second

// sqsCaller speaks SQS JSON over one connection, which it opens with the first call and after a
// failure. Only one goroutine uses it.
type sqsCaller struct {
	target   Target
	signer   *sigv4.Signer // nil: calls are not signed
	address  string
	url      *url.URL
	queueURL string

	conn    net.Conn // nil: not connected
	release func() bool
	in      *bufio.Reader
	out     *bufio.Writer
	until   time.Time // deadline of conn
	answer  bytes.Buffer
}

func newSQSCaller(target Target, number int) *sqsCaller {
	path := "/"
	if target.Account != "" {
		path += target.Account + "/"
	}
	c := &sqsCaller{target: target, address: target.Addresses[number%len(target.Addresses)], url: &url.URL{Path: path}}
	if key := target.Key; key != nil {
		c.signer = &sigv4.Signer{KeyID: key.ID, Secret: key.Secret, Region: key.Region, Service: "sqs", Now: time.Now}
	}
	return c
}

// open connects. When ctx ends, the connection is closed, even while a call waits.
func (c *sqsCaller) open(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	dialer := &net.Dialer{Timeout: dialTime}
	var conn net.Conn
	var err error
	if c.target.TLS != nil {
		conn, err = (&tls.Dialer{NetDialer: dialer, Config: c.target.TLS}).DialContext(ctx, "tcp", c.address)
	} else {
		conn, err = dialer.DialContext(ctx, "tcp", c.address)
	}
	if err != nil {
		return err
	}
	c.conn, c.until = conn, time.Time{}
	c.in, c.out = bufio.NewReader(conn), bufio.NewWriter(conn)
	c.release = context.AfterFunc(ctx, func() { conn.Close() })
	return nil
}

func (c *sqsCaller) close() {
	if c.conn != nil {
		c.release()
		c.conn.Close()
		c.conn = nil
	}
}

// call makes one request. wait is the time of a long poll, added to the timeout.
func (c *sqsCaller) call(ctx context.Context, action string, in, out any, wait time.Duration) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request := &http.Request{
		Method: http.MethodPost, URL: c.url, Host: c.address, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Target": {"AmazonSQS." + action}},
	}
	if c.signer != nil {
		c.signer.Sign(request, string(body))
	}
	response, err := c.exchange(ctx, request, wait)
	if err != nil {
		c.close()
		return err
	}
	if response.Close {
		c.close()
	}
	if response.StatusCode != http.StatusOK {
		return c.refused(response)
	}
	if out == nil || c.answer.Len() == 0 { // a single deletion has no answer
		return nil
	}
	if err := json.Unmarshal(c.answer.Bytes(), out); err != nil {
		return &refusal{status: http.StatusServiceUnavailable, code: "Unreadable", text: err.Error()}
	}
	return nil
}

// exchange writes a request and reads the response into answer.
func (c *sqsCaller) exchange(ctx context.Context, request *http.Request, wait time.Duration) (*http.Response, error) {
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	// Setting a deadline is expensive. So the deadline is a quarter later than necessary, and stays
	// for several calls.
	limit := c.target.Timeout + wait
	if now := time.Now(); c.until.Before(now.Add(limit)) {
		c.until = now.Add(limit + limit/4)
		if err := c.conn.SetDeadline(c.until); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(request.Write(c.out), c.out.Flush()); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(c.in, request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	c.answer.Reset()
	_, err = c.answer.ReadFrom(response.Body)
	return response, err
}

// refused returns the error in the answer.
func (c *sqsCaller) refused(response *http.Response) error {
	var body struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(c.answer.Bytes(), &body) // otherwise the status suffices
	code := cmp.Or(body.Type, "HTTP "+strconv.Itoa(response.StatusCode))
	return &refusal{status: response.StatusCode, code: code[strings.LastIndexByte(code, '#')+1:], text: body.Message}
}

// entry is a member of a batch, or the input of a call for one message.
type entry struct {
	QueueURL               string `json:"QueueUrl,omitempty"`
	ID                     string `json:"Id,omitempty"`
	ReceiptHandle          string `json:",omitempty"`
	MessageBody            string `json:",omitempty"`
	MessageGroupID         string `json:"MessageGroupId,omitempty"`
	MessageDeduplicationID string `json:"MessageDeduplicationId,omitempty"`
}

// batchAnswer is the answer to a batch or to a send.
type batchAnswer struct {
	MessageID  string `json:"MessageId"`
	Successful []struct {
		MessageID string `json:"MessageId"`
	}
	Failed []struct {
		Code, Message string
		SenderFault   bool
	}
}

// batch sends entries with one call and returns an error unless all succeed.
func (c *sqsCaller) batch(ctx context.Context, action string, entries []entry) (*batchAnswer, error) {
	out := &batchAnswer{}
	if len(entries) == 1 {
		entries[0].QueueURL = c.queueURL
		return out, c.call(ctx, action, &entries[0], out, 0)
	}
	for i := range entries {
		entries[i].ID = strconv.Itoa(i)
	}
	in := struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []entry
	}{c.queueURL, entries}
	if err := c.call(ctx, action+"Batch", &in, out, 0); err != nil {
		return nil, err
	}
	if len(out.Failed) > 0 {
		e := &refusal{status: http.StatusServiceUnavailable, code: out.Failed[0].Code, text: out.Failed[0].Message}
		if out.Failed[0].SenderFault {
			e.status = http.StatusBadRequest
		}
		return nil, e
	}
	return out, incomplete(len(out.Successful), len(entries))
}

// incomplete returns an error if an answer has the wrong number of messages.
func incomplete(got, want int) error {
	if got == want {
		return nil
	}
	return &refusal{status: http.StatusServiceUnavailable, code: "IncompleteAnswer",
		text: fmt.Sprintf("an answer about %d messages, want %d", got, want)}
}

func (c *sqsCaller) send(ctx context.Context, messages []message) (ids []string, err error) {
	entries := make([]entry, len(messages))
	for i, m := range messages {
		entries[i] = entry{MessageBody: m.Body, MessageGroupID: m.Group, MessageDeduplicationID: m.ID}
	}
	out, err := c.batch(ctx, "SendMessage", entries)
	switch {
	case err != nil:
		return nil, err
	case len(messages) == 1:
		return []string{out.MessageID}, incomplete(min(len(out.MessageID), 1), 1)
	}
	for _, accepted := range out.Successful {
		ids = append(ids, accepted.MessageID)
	}
	return ids, nil
}

func (c *sqsCaller) receive(ctx context.Context, most, waitSeconds int) ([]delivery, error) {
	in := struct {
		QueueURL            string `json:"QueueUrl"`
		MaxNumberOfMessages int
		WaitTimeSeconds     int
	}{c.queueURL, most, waitSeconds}
	var out struct{ Messages []delivery }
	err := c.call(ctx, "ReceiveMessage", &in, &out, time.Duration(waitSeconds)*time.Second)
	return out.Messages, err
}

func (c *sqsCaller) remove(ctx context.Context, handles []string) error {
	entries := make([]entry, len(handles))
	for i, handle := range handles {
		entries[i].ReceiptHandle = handle
	}
	_, err := c.batch(ctx, "DeleteMessage", entries)
	return err
}
