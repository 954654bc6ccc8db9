package logcheck

import (
	"fmt"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// extensionAskedOtherwise is askedOtherwise for commands that SQS does not have.
func extensionAskedOtherwise(e *history.Event, command queue.Command) string {
	switch c := command.(type) {
	case *queue.Publish:
		if e.Action != history.Publish || c.Topic != e.Topic {
			return "a publish to " + c.Topic
		}
		for i := range c.Entries {
			if x := &c.Entries[i]; x.Message != e.Body || x.GroupID != e.Group || x.DeduplicationID != e.Dedup ||
				extra(x.Attributes) != e.Extra {
				return fmt.Sprintf("message %.40q, group %q, deduplication id %q", x.Message, x.GroupID, x.DeduplicationID)
			}
		}
	case *queue.CancelScheduled:
		if e.Action != history.Cancel || c.Queue != e.Queue || len(c.Sequences) != 1 || c.Sequences[0].String() != e.Sequence {
			return fmt.Sprintf("a cancel of %v in %s", c.Sequences, c.Queue)
		}
	case *queue.AcceptSession:
		if e.Action != history.AcceptSession || c.Queue != e.Queue || c.SessionIDGiven == e.Next || c.SessionIDGiven &&
			c.SessionID != e.Group {
			return fmt.Sprintf("an accept of session %q of %s", c.SessionID, c.Queue)
		}
	case *queue.RenewSession:
		return lockNamedOtherwise(e, history.RenewSession, c.Queue, c.Session)
	case *queue.ReleaseSession:
		return lockNamedOtherwise(e, history.ReleaseSession, c.Queue, c.Session)
	case *queue.SetSessionState:
		if c.State != e.State {
			return fmt.Sprintf("state %.40q", c.State)
		}
		return lockNamedOtherwise(e, history.SetState, c.Queue, c.Session)
	}
	return ""
}

func lockNamedOtherwise(e *history.Event, action, name string, s queue.SessionRef) string {
	if e.Action != action || name != e.Queue || s.SessionID != e.Group || s.Token != e.Session {
		return fmt.Sprintf("%s of session %+v of %s", action, s, name)
	}
	return ""
}

// due returns the time of a scheduled message, 0 for any other.
func due(x *queue.SendEntry) int64 {
	if x.Options == nil {
		return 0
	}
	return int64(x.Options.EnqueueAt)
}

func publishDiffers(e *history.Event, r queue.Published) string {
	if text := errorDiffers(e.Error, nil); text != "" {
		return text
	}
	if len(r.Entries) != 1 {
		return fmt.Sprintf("%d answers to one message", len(r.Entries))
	}
	if got := &r.Entries[0]; e.Message != got.MessageID.String() || e.Sequence != got.Sequence.String() {
		return fmt.Sprintf("the client was told message %s, number %s, the log says %s, %s", e.Message, e.Sequence, got.MessageID,
			got.Sequence)
	}
	return ""
}

func lockDiffers(e *history.Event, r queue.SessionLocked) string {
	if r.SessionID == "" { // no session was free
		if e.Session != "" {
			return "the client was given session " + e.Group + ", the log says none"
		}
		return ""
	}
	if text := errorDiffers(e.Error, nil); text != "" {
		return text
	}
	if e.Group != r.SessionID || e.Session != r.Token.String() || e.Until != int64(r.LockedUntil) {
		return fmt.Sprintf("the client was given session %s until %d, token %s, the log says %s, %d, %s", e.Group, e.Until, e.Session,
			r.SessionID, r.LockedUntil, r.Token)
	}
	return ""
}

// sessionStates contains the states of sessions, by queue and session.
type sessionStates map[string]string

// apply follows a command, and reports whether it changed a state. A node may repeat a command that
// sets a state, but not after another state was set.
func (s sessionStates) apply(a applied) (changed bool) {
	c, sets := a.command.(*queue.SetSessionState)
	if !sets || a.refusal != nil {
		return false
	}
	key := c.Queue + "\x00" + c.Session.SessionID
	changed = s[key] != c.State
	s[key] = c.State
	return changed
}

// checkState checks W2 for reads of a session's state, which write no entry.
func (w *Checker) checkState(e *history.Event) {
	w.count("states of sessions compared", 1)
	if want := w.replay.states[e.Queue+"\x00"+e.Group]; e.State != want {
		w.violate("W2", "I19", e.Index, e, "the client was told state %s of session %q, which is %s there", strconv.Quote(e.State), e.Group,
			strconv.Quote(want))
	}
}
