package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/refusal"
)

func (w *world) refusal(cmd Command) *Error {
	w.t.Helper()
	_, err := w.apply(cmd)
	if err == nil {
		return &Error{}
	}
	return err
}

func TestReceiptHandles(t *testing.T) {
	s := newScript(t)
	s.create("other.fifo")
	s.send("other.fifo", "g", "d", "foreign")
	foreign := s.receive("other.fifo", 1)[0].Handle.String()
	s.run("s:a-1 r1=a-1")
	good := s.handles["a-1"]
	flipped := []byte(good)
	flipped[len(flipped)-1] ^= 1
	upper := strings.ToUpper(good)
	for name, handle := range map[string]string{
		"garbage": "garbage", "empty": "", "foreign": foreign, "cut": good[:54], "longer": good + "00",
		"flipped": string(flipped), "upper case": upper,
	} {
		t.Run(name, func(t *testing.T) {
			if handle == good {
				t.Fatal("the handle was not changed")
			}
			want := `The input receipt handle "` + handle + `" is not a valid receipt handle.`
			if err := s.refusal(&DeleteMessages{Queue: "q.fifo", Handles: []string{handle}}); err.Code != refusal.ReceiptHandleIsInvalid ||
				err.Message != want {
				t.Errorf("delete: %v", err)
			}
			if err := s.refusal(&ChangeMessageVisibility{Queue: "q.fifo",
				Entries: []VisibilityEntry{{handle, Some(1)}}}); err.Message != want {
				t.Errorf("change: %v", err)
			}
		})
	}
	s.run("d:a-1 d:a-1 r9=") // deleting again succeeds
}

func TestExpiredHandles(t *testing.T) {
	for _, c := range []struct {
		name, profile, queue, steps string
		want                        string // of the delete with the first handle
		left                        int64
	}{
		{"FIFO, expired", "aws", "q.fifo", "t30", "The receipt handle has expired.", 1},
		{"FIFO, superseded", "aws", "q.fifo", "t30 r1=a-1", "The receipt handle has expired.", 1},
		{"ymq, expired, nobody received since", "ymq", "q.fifo", "t30", "", 0},
		{"ymq, superseded", "ymq", "q.fifo", "t30 r1=a-1", "", 1},
		{"standard, expired", "aws", "q", "t30", "", 0},
		{"standard, superseded", "aws", "q", "t30 r1=a-1", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{world: newWorld(t), handles: map[string]string{}, queue: c.queue}
			if c.profile == "ymq" {
				s.create(c.queue, Attribute{Name: "ReceiveCompatibility", Value: "ymq"})
			} else {
				s.create(c.queue)
			}
			if isFIFOName(c.queue) {
				s.run("s:a-1 r1=a-1")
			} else {
				s.send(c.queue, "", "", "a-1")
				s.run("r1=a-1")
			}
			first := s.handles["a-1"]
			s.run(c.steps)
			err := s.refusal(&DeleteMessages{Queue: c.queue, Handles: []string{first}})
			if !strings.HasSuffix(err.Message, c.want) || (err.Message == "") != (c.want == "") {
				t.Errorf("delete answered %q", err.Message)
			}
			if st, _ := s.b.View().Stats(c.queue); st.Visible+st.NotVisible != c.left {
				t.Errorf("stats %+v", st)
			}
			batch := s.must(&DeleteMessages{Queue: c.queue, Batch: true, Handles: []string{first}}).(EntriesDone).Errs[0]
			if (batch != nil) != (c.want != "") || batch != nil && batch.Code != refusal.ReceiptHandleIsInvalid {
				t.Errorf("batch delete answered %v", batch)
			}
		})
	}
}

func TestChangeMessageVisibility(t *testing.T) {
	s := newScript(t)
	s.run("s:a-1 r1=a-1 t20 v:a-1=30 t20 r9= t10 r1=a-1")
	const gone = "Message does not exist or is not available for visibility timeout change."
	change := func(seconds int64) string {
		err := s.refusal(&ChangeMessageVisibility{Queue: "q.fifo", Entries: []VisibilityEntry{{s.handles["a-1"], Some(seconds)}}})
		_, reason, _ := strings.Cut(err.Message, "Reason: ")
		return reason
	}
	s.pass(1)
	if got := change(43200); got != "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]." {
		t.Errorf("over twelve hours: %q", got)
	}
	if got := change(43199); got != "" {
		t.Errorf("just under: %q", got)
	}
	s.run("t43199")
	if got := change(1); got != gone {
		t.Errorf("after expiry: %q", got)
	}
	s.run("r1=a-1 d:a-1")
	if got := change(1); got != gone {
		t.Errorf("after the delete: %q", got)
	}
	batch := s.must(&ChangeMessageVisibility{Queue: "q.fifo", Batch: true, Entries: []VisibilityEntry{{s.handles["a-1"], Some(int64(1))}}})
	want := &Error{Code: refusal.ReceiptHandleIsInvalid, Message: strings.TrimSuffix(gone, ".")}
	if got := batch.(EntriesDone).Errs[0]; got == nil || *got != *want {
		t.Errorf("after the delete, in a batch: %v", got)
	}
}
