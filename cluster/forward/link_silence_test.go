package forward

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
)

const testSilence = time.Second

// A node that sends nothing while a call waits is silent, unless it answers other calls. Receives
// may wait.
func TestSilentNode(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    Kind
		answers bool // another call, in time
		silent  int  // number of reports after two checks
	}{
		{"a send", Submit, false, 2},
		{"a send, and another is answered", Submit, true, 0},
		{"a read", ReadIndex, false, 2},
		{"a receive", Receive, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lt := newLinkTest(t, leader.Limits{})
				r := submitted()
				r.Kind = c.kind
				done := lt.ask(t.Context(), r)
				stream := <-lt.streams
				id := (<-stream.frames).Requests[0].Id
				for range 2 {
					time.Sleep(testSilence / 2) // of the bubble
					if c.answers {
						stream.answers <- &peerpb.AnswerFrame{Answers: []*peerpb.Answer{{Id: id + 1,
							Outcome: peerpb.Outcome_OUTCOME_ANSWERED}}}
					}
					time.Sleep(testSilence / 2)
					synctest.Wait()
				}
				if got := len(lt.silent); got != c.silent {
					t.Errorf("found silent %d times, want %d", got, c.silent)
				}
				stream.answers <- &peerpb.AnswerFrame{Answers: []*peerpb.Answer{{Id: id, Outcome: peerpb.Outcome_OUTCOME_EXPIRED}}}
				<-done
				before := len(lt.silent)
				time.Sleep(5 * testSilence)
				if got := len(lt.silent) - before; got != 0 {
					t.Errorf("found silent %d times when nothing was asked", got)
				}
			})
		})
	}
}

// A failed connection counts as silence.
func TestNoConnectionIsSilence(t *testing.T) {
	lt := newLinkTest(t, leader.Limits{})
	lt.refuse = errors.New("no route")
	if o := outcomeOf(t, lt.ask(t.Context(), submitted())); o.Verdict != leader.NotProposed {
		t.Errorf("verdict %d", o.Verdict)
	}
	if len(lt.silent) == 0 {
		t.Error("no silence was reported")
	}
}
