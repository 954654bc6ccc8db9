package backlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// fakeQueue answers the calls of a Backlog. Every third answer is lost after the call was
// done.
type fakeQueue struct {
	mu       sync.Mutex
	calls    int
	messages []fakeMessage      // in order
	byKey    map[string]string  // deduplication id to sequence number
	attempts map[string][]int   // attempt id to places in messages
	deleted  map[string]bool    // by handle
	held     map[string]string  // group to the attempt that has its messages
	plant    func(*fakeMessage) // changes what is sent, nil: nothing
}

type fakeMessage struct {
	ID, Body, Group, Sequence string
	lost                      bool
}

var errLost = errors.New("the answer was lost")

func newFakeQueue() *fakeQueue {
	return &fakeQueue{byKey: map[string]string{}, attempts: map[string][]int{}, deleted: map[string]bool{}, held: map[string]string{}}
}

func (q *fakeQueue) call(_ context.Context, _ Node, action string, in, out any) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	var request struct {
		Entries                 []map[string]string
		ReceiveRequestAttemptId string
	}
	// The other members of a request are of other types, and not looked at.
	_ = json.Unmarshal(text, &request)
	answer := map[string]any{}
	switch action {
	case "SendMessageBatch":
		answer["Successful"] = q.send(request.Entries)
	case "ReceiveMessage":
		answer["Messages"] = q.receive(request.ReceiveRequestAttemptId)
	case "DeleteMessageBatch":
		answer["Successful"] = q.remove(request.Entries)
	case "GetQueueAttributes":
		answer["Attributes"] = map[string]string{history.Visible: fmt.Sprint(len(q.messages) - len(q.deleted)), history.NotVisible: "0", history.Delayed: "0"}
	}
	if q.calls++; q.calls%3 == 0 {
		return errLost
	}
	if text, err = json.Marshal(answer); err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

func (q *fakeQueue) send(entries []map[string]string) (done []map[string]string) {
	for _, e := range entries {
		key, sequence := e["MessageDeduplicationId"], fmt.Sprintf("%020d", len(q.messages))
		if known, found := q.byKey[key]; found {
			sequence = known
		} else {
			q.byKey[key] = sequence
			m := fakeMessage{ID: "id-" + sequence, Body: e["MessageBody"], Group: e["MessageGroupId"], Sequence: sequence}
			if q.plant != nil {
				q.plant(&m)
			}
			q.messages = append(q.messages, m)
		}
		done = append(done, map[string]string{"Id": e["Id"], "MessageId": "id-" + sequence, "SequenceNumber": sequence, "MD5OfMessageBody": history.BodyDigest(e["MessageBody"])})
	}
	return done
}

func (q *fakeQueue) receive(attempt string) (out []map[string]any) {
	places, again := q.attempts[attempt]
	for i := 0; i < len(q.messages) && !again && len(places) < batch; i++ {
		m := &q.messages[i]
		if holder := q.held[m.Group]; !m.lost && !q.deleted[m.Sequence] && (holder == "" || holder == attempt) {
			q.held[m.Group] = attempt
			places = append(places, i)
		}
	}
	q.attempts[attempt] = places
	for _, i := range places {
		m := q.messages[i]
		out = append(out, map[string]any{
			"MessageId": m.ID, "Body": m.Body, "MD5OfBody": history.BodyDigest(m.Body), "ReceiptHandle": m.Sequence,
			"Attributes": map[string]string{"MessageGroupId": m.Group, "SequenceNumber": m.Sequence},
		})
	}
	return out
}

func (q *fakeQueue) remove(entries []map[string]string) (done []map[string]string) {
	for _, e := range entries {
		handle := e["ReceiptHandle"]
		q.deleted[handle] = true
		done = append(done, map[string]string{"Id": e["Id"]})
		for i := range q.messages {
			if q.messages[i].Sequence == handle {
				delete(q.held, q.messages[i].Group)
			}
		}
	}
	return done
}

// TestBacklogComesBack parks messages in a queue that loses answers, and takes them out.
func TestBacklogComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(*fakeMessage)
		want  string // part of a problem, empty for none
	}{
		"sound":          {nil, ""},
		"a message lost": {func(m *fakeMessage) { m.lost = m.Sequence == fmt.Sprintf("%020d", 123) }, "acknowledged messages never came"},
		"a wrong body": {func(m *fakeMessage) {
			if m.Sequence == fmt.Sprintf("%020d", 77) {
				m.Body = m.Body[:BodyBytes-1] + "!"
			}
		}, "came with another body"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue()
				q.plant = c.plant
				b := New("url", q.call, io.Discard)
				const messages = 400
				if err := b.Fill(t.Context(), messages*BodyBytes); err != nil {
					t.Fatal(err)
				}
				if err := b.Count(t.Context(), nil, "n1"); err != nil {
					t.Fatal(err)
				}
				if problems := b.Account.Problems(); len(problems) > 0 {
					t.Errorf("before the drain: %q", problems)
				}
				if err := b.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				problems := strings.Join(b.Account.Problems(), "\n")
				if c.want == "" && problems != "" || !strings.Contains(problems, c.want) {
					t.Errorf("problems %q, want %q", problems, c.want)
				}
				if acked := b.Account.Counts()["backlog: messages acknowledged"]; acked != messages {
					t.Errorf("%d messages were acknowledged", acked)
				}
			})
		})
	}
}
