package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

// longBody returns a body long enough to be replaced by its digest.
func longBody(number int) string { return strings.Repeat(fmt.Sprintf("body %03d,", number), 40) }

// A state that keeps only digests of bodies is verified as strictly as one with the bodies, because
// the state hash covers the bytes that were read.
func TestDigestsAreThoseOfTheTexts(t *testing.T) {
	broker := queue.New()
	apply(t, broker, &queue.CreateQueue{Queue: "q.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	const messages = 200
	for i := range messages {
		apply(t, broker, &queue.SendMessages{Queue: "q.fifo", Entries: []queue.SendEntry{{
			Body: longBody(i), GroupID: "g", GroupIDGiven: true, DeduplicationID: fmt.Sprint(i), DeduplicationIDGiven: true,
			TraceHeader: strings.Repeat("trace", i%2), // so that some records are not those of a plain message
		}}})
	}
	data := stored(t, positionOf(broker), broker)
	_, whole, counts, err := ReadContents(bytes.NewReader(data), message.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	_, forgetful, again, err := ReadContents(bytes.NewReader(data), message.Digests{})
	if err != nil || cmp.Diff(counts, again) != "" || forgetful.ComputeStateHash() != whole.ComputeStateHash() {
		t.Errorf("%+v and %v without texts, %+v with them", again, err, counts)
	}
	if err := Write(new(bytes.Buffer), positionOf(forgetful), forgetful.Freeze()); !errors.Is(err, message.ErrNoText) {
		t.Errorf("the texts are there: %v", err)
	}
	for _, i := range []int{0, messages / 2, messages - 1} {
		changed := rewritten(t, data, func(_ sectionKind, payload []byte) []byte {
			return bytes.Replace(payload, []byte(longBody(i)), []byte(strings.ToUpper(longBody(i))), 1)
		})
		if bytes.Equal(changed, data) {
			t.Fatal("nothing was changed")
		}
		if _, _, _, err := ReadContents(bytes.NewReader(changed), message.Digests{}); !errors.Is(err, format.ErrStateMismatch) {
			t.Errorf("another body %d under right checksums: %v", i, err)
		}
	}
}
