package client_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/seriatimq/seriatim/transport/grpc/client"
)

func TestQueuesAndTags(t *testing.T) {
	c, _ := newClient(t, "n1")
	ctx := t.Context()
	arn, err := c.CreateQueue(ctx, "listed-a", nil, map[string]string{"team": "a", "stage": "b"})
	if err != nil || arn != "arn:aws:sqs:us-east-1:000000000000:listed-a" {
		t.Errorf("%q %v", arn, err)
	}
	if _, err := c.CreateQueue(ctx, "listed-b", nil, nil); err != nil {
		t.Error(err)
	}
	names, account, err := c.Queues(ctx, "listed-")
	if err != nil || account != "000000000000" || !slices.Equal(names, []string{"listed-a", "listed-b"}) {
		t.Errorf("%v of %q: %v", names, account, err)
	}
	if err := c.TagQueue(ctx, "listed-a", map[string]string{"stage": "c"}); err != nil {
		t.Error(err)
	}
	if err := c.UntagQueue(ctx, "listed-a", "team", "unknown"); err != nil {
		t.Error(err)
	}
	if tags, err := c.QueueTags(ctx, "listed-a"); err != nil || !maps.Equal(tags, map[string]string{"stage": "c"}) {
		t.Errorf("%v %v", tags, err)
	}
}

func TestMoveTasks(t *testing.T) {
	c, _ := newClient(t, "n1")
	ctx := t.Context()
	dead := create(t, c, "")
	arn, err := c.CreateQueue(ctx, dead, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	policy := map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":1}`}
	if err := c.SetQueueAttributes(ctx, create(t, c, ""), policy); err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartMoveTask(ctx, dead, "", new(int32(0))); client.Reason(err) != "InvalidParameterValue" {
		t.Errorf("a rate of 0: %v", err)
	}
	id, err := c.StartMoveTask(ctx, dead, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := c.MoveTasks(ctx, dead)
	if err != nil || len(tasks) != 1 || tasks[0].GetTaskId() != id || tasks[0].GetSource() != dead {
		t.Errorf("%v %v", tasks, err)
	}
	if _, err := c.CancelMoveTask(ctx, dead, "none"); client.Reason(err) != "ResourceNotFoundException" {
		t.Errorf("an unknown task was cancelled: %v", err)
	}
}

// The error of a batch says which entries failed.
func TestBatchError(t *testing.T) {
	c, _ := newClient(t, "n1")
	name := create(t, c, ".fifo")
	sendTo(t, c, name, "g", "a")
	err := c.Delete(t.Context(), name, receive(t, c, name)[0].GetReceiptHandle(), "nonsense")
	batch, ok := errors.AsType[*client.BatchError](err)
	if !ok || len(batch.Failures) != 2 || batch.Failures[0] != nil || batch.Failures[1].Reason != "ReceiptHandleIsInvalid" {
		t.Fatalf("%v", err)
	}
	if first, ok := errors.AsType[*client.FailureError](err); !ok || first != batch.Failures[1] || client.Reason(err) != first.Reason {
		t.Errorf("the error wraps %v", first)
	}
}
