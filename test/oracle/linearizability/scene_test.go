package linearizability

import (
	"fmt"
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// scene is a history made by hand. Calls follow each other at intervals of one
// second of true and of log time, unless a test moves them.
type scene struct {
	events []*history.Event
	at     int64 // log time of the last answer, in milliseconds
	wait   int64 // seconds until the next call
}

const sceneQueue = "generation-1.fifo"

// add makes a call of 100 ms.
func (s *scene) add(e history.Event) *history.Event {
	s.at += 1000 + 1000*s.wait
	s.wait = 0
	e.Kind, e.ID, e.Client, e.Queue, e.Result = history.KindOp, int64(len(s.events)+1), 1, sceneQueue, history.OK
	e.Call, e.Return, e.LogTime = 1000*s.at-50_000, 1000*s.at+50_000, s.at
	s.events = append(s.events, &e)
	return &e
}

// send is answered with message m<n>.
func (s *scene) send(group, key string, n int) *history.Event {
	return s.add(history.Event{
		Action: history.Send, Group: group, Dedup: key, Body: fmt.Sprintf("body %d", n),
		Message: fmt.Sprintf("m%d", n), Sequence: fmt.Sprint(1000 + n),
	})
}

// got is a delivery: the count of message m<n> of a group.
type got struct {
	n, count int
	group    string
}

func (s *scene) receive(attempt string, most int, list ...got) *history.Event {
	e := history.Event{Action: history.Receive, Attempt: attempt}
	e.Most = most
	for _, g := range list {
		e.Messages = append(e.Messages, history.Message{
			ID: fmt.Sprintf("m%d", g.n), Body: fmt.Sprintf("body %d", g.n), Group: g.group,
			Sequence: fmt.Sprint(1000 + g.n), Handle: fmt.Sprintf("h%d.%d", g.n, g.count), Count: g.count,
		})
	}
	return s.add(e)
}

func (s *scene) remove(n, count int) *history.Event {
	return s.add(history.Event{Action: history.Delete, Handle: fmt.Sprintf("h%d.%d", n, count)})
}

func (s *scene) change(n, count int, seconds int64) *history.Event {
	micros := seconds * 1_000_000
	e := history.Event{Action: history.Visibility, Handle: fmt.Sprintf("h%d.%d", n, count)}
	e.Timeout = &micros
	return s.add(e)
}

// lose makes the outcome of a call unknown: its client has no answer.
func lose(e *history.Event) {
	e.Result, e.Error = history.Unknown, "no answer"
	e.Message, e.Sequence, e.Messages, e.LogTime = "", "", nil, 0
}

func refuse(e *history.Event) { e.Error = "InvalidParameterValueException" }

// check judges the scene: window 20 s, attempts 60 s, visibility 10 s.
func (s *scene) check(t *testing.T, o Options) Report {
	t.Helper()
	events := []history.Event{{Kind: history.KindRun, Detail: history.Detail{Rules: &history.Rules{
		Window: 20e6, Attempt: 60e6, Visibility: 10e6,
	}}}}
	for _, e := range s.events {
		events = append(events, *e)
	}
	r, err := Check(events, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
