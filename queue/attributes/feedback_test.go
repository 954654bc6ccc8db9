package attributes

import (
	"testing"

	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

// Each protocol has three feedback attributes of its own, which are listed once they are set.
func TestFeedback(t *testing.T) {
	given := []Attribute{
		{"ApplicationSuccessFeedbackSampleRate", "0"},
		{"HTTPFailureFeedbackRoleArn", "f"},
		{"HTTPSuccessFeedbackRoleArn", "s"},
		{"SQSSuccessFeedbackSampleRate", "100"},
	}
	a := mustTopic(t, false, given...)
	if want := (Feedback{SuccessRole: "s", FailureRole: "f"}); a.Feedback[2] != want || a.TextBytes() != 2 {
		t.Errorf("got %+v, %d bytes", a.Feedback, a.TextBytes())
	}
	for _, g := range given {
		if value, listed := ValueOf(a.List(), g.Name); !listed || value != g.Value {
			t.Errorf("%s is listed as %q, %v", g.Name, value, listed)
		}
	}
	if n := len(mustTopic(t, false).List()); len(a.List()) != n+len(given) {
		t.Errorf("listed %v", a.List())
	}
	for _, value := range []string{"", "-1", "101", "x"} {
		_, err := a.WithChanges([]Attribute{{"SQSSuccessFeedbackSampleRate", value}}, usual)
		refusaltest.Want(t, err, refusal.SNSInvalidParameter,
			"Invalid parameter: SQSSuccessFeedbackSampleRate: Invalid value ["+value+"]. Must be between 0 and 100.")
	}
	_, err := a.WithChanges([]Attribute{{"KafkaSuccessFeedbackSampleRate", "1"}}, usual)
	refusaltest.Want(t, err, refusal.SNSInvalidParameter, "Invalid parameter: AttributeName")
}
