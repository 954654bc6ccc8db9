package attributes

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Feedback holds the attributes of a topic for the delivery log of one protocol. They are stored
// and returned only. Each is empty until it is set; Terraform sets every sample rate, even to 0.
type Feedback struct {
	SuccessRole string // ARN
	FailureRole string // ARN
	SampleRate  string // of successes, in percent
}

// feedbackProtocols are the protocols with such attributes. Their order is that of Topic.Feedback
// and of snapshots.
var feedbackProtocols = [feedbackCount]string{"Application", "Firehose", "HTTP", "Lambda", "SQS"}

const feedbackCount = 5

// feedbackRows returns three rows for each protocol.
func feedbackRows() (rows []attribute[Topic]) {
	const does = "Stored and listed for AWS clients."
	for i, protocol := range feedbackProtocols {
		role := func(name string, field func(*Feedback) *string) attribute[Topic] {
			return row(protocol+name, 1, onAny, does,
				text(takesText("text"), func(a *Topic) *string { return field(&a.Feedback[i]) }, checkRole))
		}
		rows = append(rows,
			role("FailureFeedbackRoleArn", func(f *Feedback) *string { return &f.FailureRole }),
			role("SuccessFeedbackRoleArn", func(f *Feedback) *string { return &f.SuccessRole }),
			row(protocol+"SuccessFeedbackSampleRate", 1, onAny, does,
				text(takesText("0 to 100"), func(a *Topic) *string { return &a.Feedback[i].SampleRate }, checkSampleRate)))
	}
	return rows
}

func checkRole(s setting) *refusal.Error {
	if len(s.value) > limits.RoleLengthMax || message.BadCharacter(s.value) {
		return s.invalid("Must be at most " + strconv.Itoa(limits.RoleLengthMax) + " bytes of valid characters.")
	}
	return nil
}

func checkSampleRate(s setting) *refusal.Error {
	if n, ok := message.ParseNumber(s.value); !ok || n < 0 || n > 100 {
		return s.invalid("Must be between 0 and 100.")
	}
	return nil
}

// TextBytes returns the length of the texts of a topic.
func (a *Topic) TextBytes() int {
	n := len(a.Policy) + len(a.DeliveryPolicy) + len(a.DataProtection)
	for i := range a.Feedback {
		n += len(a.Feedback[i].SuccessRole) + len(a.Feedback[i].FailureRole)
	}
	return n
}
