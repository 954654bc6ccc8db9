package client_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func TestDeduplicationOfAQueue(t *testing.T) {
	c, _ := newClient(t, "n1", "n2")
	ctx := t.Context()
	name := create(t, c, ".fifo")
	group, id := "g", "id"
	sent, err := c.Send(ctx, name, &client.Message{Body: "a", GroupId: &group, DeduplicationId: &id})
	clustertest.Must(t, err)
	found, known, err := c.LookUpDeduplication(ctx, name, client.DeduplicationID{ID: id})
	if err != nil || !known || found.MessageID != sent[0].GetMessageId() || found.SequenceNumber != sent[0].GetSequenceNumber() ||
		found.Scope != "queue" || found.State != "stored" || found.ForgottenAt.Sub(found.AcceptedAt) != 5*time.Minute {
		t.Errorf("%+v %v %v", found, known, err)
	}
	clustertest.Check(t, c.SetDeduplicationWindow(ctx, name, time.Hour))
	s, err := c.DeduplicationStats(ctx, name)
	if err != nil || s.Live != 1 || s.Kept != 1 || s.ByScope["queue"] != 1 || s.Window != time.Hour ||
		!s.OldestAt.Equal(found.AcceptedAt) || s.Bytes == 0 || s.EntriesMax != 0 {
		t.Errorf("%+v %v", s, err)
	}
	clustertest.Check(t, c.ForgetDeduplication(ctx, name, client.DeduplicationID{ID: id}))
	if found, known, err := c.LookUpDeduplication(ctx, name, client.DeduplicationID{ID: id}); err != nil || known ||
		found != (client.KnownID{}) {
		t.Errorf("forgotten: %+v %v %v", found, known, err)
	}
	if s, err := c.DeduplicationStats(ctx, name); err != nil || s.Live != 0 || !s.OldestAt.IsZero() {
		t.Errorf("forgotten: %+v %v", s, err)
	}
	if err := c.ForgetDeduplication(ctx, name, client.DeduplicationID{ID: id}); client.Reason(err) != "DeduplicationIdUnknown" {
		t.Errorf("forgotten twice: %v", err)
	}
	if _, err := c.DeduplicationStats(ctx, "none.fifo"); client.Reason(err) != "QueueDoesNotExist" {
		t.Errorf("no queue: %v", err)
	}
}

// These commands are not repeated: a repetition could take a group or an id from a later user.
func TestForgetAndReleaseAreMadeOnce(t *testing.T) {
	c, fronts := newClient(t, "n1")
	ctx := t.Context()
	name := create(t, c, ".fifo")
	sendTo(t, c, name, "g", "a")
	made := 0
	broken := func(cmd queue.Command) error {
		switch cmd.(type) {
		case *queue.ForgetDeduplication, *queue.ReleaseGroup:
			made++
			return cluster.ErrOutcomeUnknown
		}
		return nil
	}
	group, id := "g", "id"
	clustertest.Must(t, clustertest.Err(c.Send(ctx, name, &client.Message{Body: "b", GroupId: &group, DeduplicationId: &id})))
	fronts[0].face.broken.Store(&broken)
	if err := c.ForgetDeduplication(ctx, name, client.DeduplicationID{ID: id}); client.Reason(err) != "OutcomeUnknown" || made != 1 {
		t.Errorf("%v after %d attempts", err, made)
	}
	if _, err := c.ReleaseGroup(ctx, name, "g"); client.Reason(err) != "OutcomeUnknown" || made != 2 {
		t.Errorf("%v after %d attempts", err, made-1)
	}
}

func TestGroupsOfAQueue(t *testing.T) {
	c, _ := newClient(t, "n1", "n2")
	ctx := t.Context()
	name := create(t, c, ".fifo")
	sendTo(t, c, name, "b", "1", "2")
	id := "a"
	first, err := c.Send(ctx, name, &client.Message{Body: "1", GroupId: &id})
	clustertest.Must(t, err)
	sendTo(t, c, name, "a", "2")
	sendTo(t, c, name, "ab", "1", "2")
	var listed []string
	for g, err := range c.Groups(ctx, name, "a") {
		clustertest.Must(t, err)
		listed = append(listed, g.ID)
	}
	if len(listed) != 2 || listed[0] != "a" || listed[1] != "ab" {
		t.Errorf("listed %v", listed)
	}
	for range c.Groups(ctx, name, "") {
		break // no further group is visited
	}
	for g, err := range c.Groups(ctx, "none.fifo", "") {
		if client.Reason(err) != "QueueDoesNotExist" || g != (client.Group{}) {
			t.Errorf("%+v %v", g, err)
		}
	}
	g, err := c.Group(ctx, name, "a")
	if err != nil || g.State != client.GroupReady || g.Messages != 2 || g.InFlight != 0 ||
		g.First.SequenceNumber != first[0].GetSequenceNumber() || g.First.MessageID != first[0].GetMessageId() ||
		g.First.SentAt.IsZero() || !g.Until.IsZero() || g.Explanation == "" {
		t.Errorf("%+v %v", g, err)
	}
	if g, err := c.Group(ctx, name, "none"); err != nil || g.State != client.GroupEmpty || g.First != (client.FirstMessage{}) {
		t.Errorf("%+v %v", g, err)
	}
	s, err := c.Accept(ctx, name, "a", client.SessionOptions{ManualRenewal: true, LockSeconds: 600})
	clustertest.Must(t, err)
	if g, err := c.Group(ctx, name, "a"); err != nil || g.State != client.GroupSession || !g.Until.Equal(s.LockedUntil()) {
		t.Errorf("%+v %v, locked until %v", g, err, s.LockedUntil())
	}
	if released, err := c.ReleaseGroup(ctx, name, "a"); err != nil || released != (client.ReleasedGroup{Session: true}) {
		t.Errorf("%+v %v", released, err)
	}
	if released, err := c.ReleaseGroup(ctx, name, "a"); err != nil || released != (client.ReleasedGroup{}) {
		t.Errorf("released twice: %+v %v", released, err)
	}
	clustertest.Check(t, s.Release(ctx))
}

// A session can be continued with its token, and is listed with its state.
func TestResumedSession(t *testing.T) {
	c, _ := newClient(t, "n1", "n2")
	ctx := t.Context()
	name := create(t, c, ".fifo")
	if _, err := c.AcceptNext(ctx, name, client.SessionOptions{WaitSeconds: -1}); client.Reason(err) != "NoSessionAvailable" {
		t.Errorf("none is free: %v", err)
	}
	first, err := c.Accept(ctx, name, "s", client.SessionOptions{LockSeconds: 60, ManualRenewal: true})
	clustertest.Must(t, err)
	for _, manual := range []bool{true, false} {
		s, err := c.Resume(ctx, name, first.ID(), first.Token(), client.SessionOptions{LockSeconds: 600, ManualRenewal: manual})
		clustertest.Must(t, err)
		if renewed := s.LockedUntil().After(first.LockedUntil()); renewed == manual {
			t.Errorf("manual %v: locked until %v, before %v", manual, s.LockedUntil(), first.LockedUntil())
		}
		clustertest.Check(t, s.SetState(ctx, []byte("x")))
		if manual {
			continue
		}
		listed := 0
		for info, err := range c.Sessions(ctx, name, time.Time{}) {
			listed++
			if err != nil || info.ID != "s" || info.StateBytes != 1 || info.StateSetAt.IsZero() ||
				!info.LockedUntil.Equal(s.LockedUntil()) {
				t.Errorf("%+v %v", info, err)
			}
			for range c.Sessions(ctx, name, info.StateSetAt.Add(time.Millisecond)) {
				t.Error("listed with an older state")
			}
		}
		if listed != 1 {
			t.Errorf("listed %d", listed)
		}
		clustertest.Check(t, s.Release(ctx))
	}
	if _, err := c.Resume(ctx, name, first.ID(), first.Token(), client.SessionOptions{}); client.Reason(err) != "SessionLockLost" {
		t.Errorf("after the release: %v", err)
	}
}

// Attributes of both types arrive unchanged.
func TestMessageAttributes(t *testing.T) {
	c, _ := newClient(t, "n1")
	ctx := t.Context()
	name := create(t, c, "")
	_, err := c.Send(ctx, name, &client.Message{Body: "a", Attributes: map[string]*client.Attribute{
		"n": client.TextAttribute("Number.int", "5"), "b": client.BinaryAttribute("Binary", []byte{0, 1}),
	}})
	clustertest.Must(t, err)
	got, err := c.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: name})
	if err != nil || len(got.GetMessages()) != 1 {
		t.Fatal(got, err)
	}
	received := got.GetMessages()[0].GetAttributes()
	if n := received["n"]; n.GetDataType() != "Number.int" || n.GetText() != "5" {
		t.Errorf("%v", n)
	}
	if b := received["b"]; b.GetDataType() != "Binary" || string(b.GetBinary()) != "\x00\x01" {
		t.Errorf("%v", b)
	}
}

// A client with a limit of attempts asks each node once.
func TestAttemptsAreLimited(t *testing.T) {
	c, err := client.Dial(client.Options{Attempts: 2}, "127.0.0.1:1", "127.0.0.1:2")
	clustertest.Must(t, err)
	defer func() { _ = c.Close() }() // there is no connection
	if _, err := c.QueueAttributes(t.Context(), "q"); status.Code(err) != codes.Unavailable {
		t.Errorf("%v", err)
	}
}
