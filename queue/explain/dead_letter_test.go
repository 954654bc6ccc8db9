package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/rules"
)

// offersMove checks whether an explanation offers to move a message back to its source.
func (s *state) offersMove(name string, sequence queue.SequenceNumber, want bool) {
	s.t.Helper()
	e, err := Message(s.b.View(), name, sequence)
	if err != nil {
		s.t.Fatal(err)
	}
	offered := slices.ContainsFunc(e.Commands, func(c Command) bool { return strings.HasPrefix(c.Effect, "moves it back to ") })
	if offered != want {
		s.t.Errorf("the explanation of message %s of %s offers a move: %t", sequence, name, offered)
	}
}

// TestDeadLettersOfRulesAreExplained offers no move that the broker refuses: to the queue where the
// message is, or to a standard queue from a FIFO queue.
func TestDeadLettersOfRulesAreExplained(t *testing.T) {
	s := newState(t)
	s.create("dead.fifo", "DeduplicationEnabled", "false")
	s.create("plain")
	const topicARN = "arn:aws:sns:us-east-1:000000000000:t.fifo"
	s.must(&queue.CreateTopic{Topic: "t.fifo", TopicARN: topicARN, Attributes: list([]string{"FifoTopic", "true"})})
	for _, name := range []string{"dead.fifo", "plain"} {
		s.must(&queue.Subscribe{
			Topic: "t.fifo", Endpoint: "arn:aws:sqs:us-east-1:000000000000:" + name,
			Attributes: list([]string{"RedrivePolicy", `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo"}`}),
			Rules:      []rules.Definition{failingRule(t)},
		})
	}
	s.must(&queue.Publish{Topic: "t.fifo", Entries: []queue.PublishEntry{{
		Message: "1", GroupID: "g", GroupIDGiven: true, DeduplicationID: "1", DeduplicationIDGiven: true,
	}}})
	dead, err := s.b.View().Peek("dead.fifo", 0, "", 10)
	if err != nil || len(dead) != 2 || dead[0].DeadLetterSource != "" || dead[1].DeadLetterSource != "plain" {
		t.Fatalf("dead letters: %+v %v", dead, err)
	}
	s.offersMove("dead.fifo", dead[0].Sequence, false)
	s.offersMove("dead.fifo", dead[1].Sequence, false)
}

func failingRule(t *testing.T) rules.Definition {
	t.Helper()
	division := &rules.Expression{Text: "1 / (sys.Size - sys.Size) = 1"}
	rule, err := rules.Definition{Name: "a", Kind: rules.KindSQL, SQL: division}.InCanonicalForm()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}
