package attributes

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/limits"
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
func feedbackRows() settables[Topic] {
	var rows settables[Topic]
	for i, protocol := range feedbackProtocols {
		role := func(name string, field func(*Feedback) *string) settable[Topic] {
			return topicTextRow(protocol+name, 1, takesText("text"), func(a *Topic) *string { return field(&a.Feedback[i]) },
				func(value string) string {
					if len(value) > limits.RoleLengthMax || content.BadCharacter(value) {
						return badValue(protocol+name, value,
							"Must be at most "+strconv.Itoa(limits.RoleLengthMax)+" bytes of valid characters.")
					}
					return ""
				})
		}
		rate := protocol + "SuccessFeedbackSampleRate"
		rows = append(rows,
			role("FailureFeedbackRoleArn", func(f *Feedback) *string { return &f.FailureRole }),
			role("SuccessFeedbackRoleArn", func(f *Feedback) *string { return &f.SuccessRole }),
			topicTextRow(rate, 1, takesNumber(0, 100), func(a *Topic) *string { return &a.Feedback[i].SampleRate },
				func(value string) string {
					if n, ok := content.ParseNumber(value); !ok || n < 0 || n > 100 {
						return badValue(rate, value, "Must be between 0 and 100.")
					}
					return ""
				}))
	}
	return rows
}

// TextBytes returns the length of the texts of a topic.
func (a *Topic) TextBytes() int {
	n := len(a.Policy) + len(a.DeliveryPolicy) + len(a.DataProtection)
	for i := range a.Feedback {
		n += len(a.Feedback[i].SuccessRole) + len(a.Feedback[i].FailureRole)
	}
	return n
}
