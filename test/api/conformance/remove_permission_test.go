package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func (c *client) tryForbid(t *testing.T, queue, label string) *refusal {
	t.Helper()
	_, got := call(t, c.sqs.RemovePermission, &sqs.RemovePermissionInput{QueueUrl: &queue, Label: &label}, nil)
	return got
}

func TestRemovePermissionLastStatement(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		if got := c.tryPermit(t, queue, "L", oneAccount, "ReceiveMessage"); got != nil {
			t.Fatalf("refused: %v", got)
		}
		if got := c.tryForbid(t, queue, "L"); got != nil {
			t.Fatalf("refused: %v", got)
		}
		if policy := c.policy(t, queue); policy != nil {
			t.Errorf("policy %v, want none", policy)
		}
		refused(t, c.tryForbid(t, queue, "L"), "InvalidParameterValue", "Value L for parameter Label is invalid. Reason: can't find label.")
	})
}

func TestRemovePermissionKeepsOthers(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		for _, label := range []string{"L", "M"} {
			if got := c.tryPermit(t, queue, label, oneAccount, "ReceiveMessage"); got != nil {
				t.Fatalf("refused: %v", got)
			}
		}
		if got := c.tryForbid(t, queue, "L"); got != nil {
			t.Fatalf("refused: %v", got)
		}
		list, _ := c.policy(t, queue)["Statement"].([]any)
		if len(list) != 1 || list[0].(object)["Sid"] != "M" {
			t.Errorf("statements %v", list)
		}
	})
}
