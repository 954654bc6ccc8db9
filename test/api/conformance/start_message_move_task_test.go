package conformance

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func (c *client) tryMove(t *testing.T, in *sqs.StartMessageMoveTaskInput) (string, *refusal) {
	t.Helper()
	out, got := call(t, c.sqs.StartMessageMoveTask, in, nil)
	if got != nil {
		return "", got
	}
	return aws.ToString(out.TaskHandle), nil
}

func (c *client) move(t *testing.T, in *sqs.StartMessageMoveTaskInput) string {
	t.Helper()
	return must[string](t)(c.tryMove(t, in))
}

func (c *client) moveTasks(t *testing.T, source string, n int32) []types.ListMessageMoveTasksResultEntry {
	t.Helper()
	in := &sqs.ListMessageMoveTasksInput{SourceArn: aws.String(arn(source))}
	if n > 0 {
		in.MaxResults = &n
	}
	out, got := call(t, c.sqs.ListMessageMoveTasks, in, nil)
	return must[*sqs.ListMessageMoveTasksOutput](t)(out, got).Results
}

// moveEnds waits until the newest task of the source has the status.
func (c *client) moveEnds(t *testing.T, source, status string) types.ListMessageMoveTasksResultEntry {
	t.Helper()
	var newest types.ListMessageMoveTasksResultEntry
	c.eventually(t, "the move task is "+status, func() bool {
		tasks := c.moveTasks(t, source, 1)
		if len(tasks) != 1 {
			t.Fatalf("%d tasks are listed, want one", len(tasks))
		}
		newest = tasks[0]
		return aws.ToString(newest.Status) == status
	})
	return newest
}

// fillDeadLetters makes a source whose messages are all in the target.
func (c *client) fillDeadLetters(t *testing.T, target string, bodies ...string) string {
	t.Helper()
	source := c.std(t, attrs{"RedrivePolicy": redrive(target, 1), "VisibilityTimeout": "0"})
	for _, body := range bodies {
		c.send(t, source, body)
	}
	for range bodies {
		c.receive(t, source, atMost(10))
	}
	c.empty(t, source)
	c.counts(t, source, 0, 0, 0)
	return source
}

func TestStartMessageMoveTaskRefusals(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		plain, target := c.std(t, nil), c.std(t, nil)
		c.std(t, attrs{"RedrivePolicy": redrive(target, 1)})
		const noResource = "The resource that you specified for the %s parameter doesn't exist."
		cases := []struct {
			name, source, destination string
			code, text                string
		}{
			{"source is nobody's dead-letter queue", arn(plain), "", "InvalidParameterValue",
				"Source queue must be configured as a Dead Letter Queue."},
			{"unknown source", arn(c.missing(t)), "", "ResourceNotFoundException", fmt.Sprintf(noResource, "SourceArn")},
			{"unknown destination", arn(target), arn(c.missing(t)), "ResourceNotFoundException", fmt.Sprintf(noResource, "DestinationArn")},
			{"malformed source", "nonsense", "", "InvalidParameterValue",
				"You must use this format to specify the SourceArn: arn:<partition>:<service>:<region>:<account-id>:<resource-id>"},
		}
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				in := &sqs.StartMessageMoveTaskInput{SourceArn: &test.source}
				if test.destination != "" {
					in.DestinationArn = &test.destination
				}
				_, got := c.tryMove(t, in)
				refused(t, got, test.code, test.text)
			})
		}
		for _, n := range []int32{501, -1} {
			_, got := c.tryMove(t, &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(arn(target)), MaxNumberOfMessagesPerSecond: &n})
			refused(t, got, "InvalidParameterValue", "")
		}
	})
}

func TestStartMessageMoveTaskToDestination(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target, destination := c.std(t, nil), c.std(t, nil)
		c.fillDeadLetters(t, target, "a", "b")
		handle := c.move(t, &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(arn(target)),
			DestinationArn: aws.String(arn(destination))})
		var content struct{ TaskID, SourceArn string }
		decoded, err := base64.StdEncoding.DecodeString(handle)
		if err == nil {
			err = json.Unmarshal(decoded, &content)
		}
		if err != nil || content.SourceArn != arn(target) || !uuidForm.MatchString(content.TaskID) {
			t.Errorf("task handle %q is %s", handle, decoded)
		}
		done := c.moveEnds(t, target, "COMPLETED")
		if done.ApproximateNumberOfMessagesMoved != 2 || aws.ToInt64(done.ApproximateNumberOfMessagesToMove) != 2 ||
			done.TaskHandle != nil {
			t.Errorf("moved %d of %d, handle %v", done.ApproximateNumberOfMessagesMoved,
				aws.ToInt64(done.ApproximateNumberOfMessagesToMove), done.TaskHandle)
		}
		if aws.ToString(done.DestinationArn) != arn(destination) || aws.ToString(done.SourceArn) != arn(target) ||
			done.StartedTimestamp == 0 {
			t.Errorf("entry %+v", done)
		}
		c.expectSet(t, destination, "a", "b")
		c.counts(t, target, 0, 0, 0)
	})
}

func TestStartMessageMoveTaskBackToSources(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.std(t, nil)
		first := c.fillDeadLetters(t, target, "a1", "a2")
		second := c.fillDeadLetters(t, target, "b1")
		c.move(t, &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(arn(target))})
		if done := c.moveEnds(t, target, "COMPLETED"); done.DestinationArn != nil {
			t.Errorf("DestinationArn %q", *done.DestinationArn)
		}
		c.counts(t, first, 2, 0, 0)
		c.counts(t, second, 1, 0, 0)
		back := c.one(t, second, everything)
		if *back.Body != "b1" || back.Attributes["ApproximateReceiveCount"] != "1" {
			t.Errorf("%q came back with receive count %s", *back.Body, back.Attributes["ApproximateReceiveCount"])
		}
	})
}

func TestStartMessageMoveTaskFIFO(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.fifo(t, nil)
		source := c.fifo(t, attrs{"RedrivePolicy": redrive(target, 1), "VisibilityTimeout": "0"})
		want := []string{"g1-m1", "g1-m2", "g1-m3"}
		c.load(t, source, want...)
		c.receive(t, source, atMost(10))
		c.empty(t, source)
		c.counts(t, target, 3, 0, 0)
		c.move(t, &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(arn(target))})
		c.moveEnds(t, target, "COMPLETED")
		if diff := cmp.Diff(want, bodies(c.receive(t, source, atMost(10)))); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}

func TestStartMessageMoveTaskTwice(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.std(t, nil)
		c.fillDeadLetters(t, target, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
		in := &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(arn(target)), MaxNumberOfMessagesPerSecond: aws.Int32(1)}
		c.move(t, in)
		_, got := c.tryMove(t, in)
		if got == nil {
			// Possible only if the first was over in the meantime.
			if len(c.moveTasks(t, target, 10)) == 2 && aws.ToString(c.moveTasks(t, target, 10)[1].Status) == "COMPLETED" {
				return
			}
		}
		refused(t, got, "InvalidParameterValue",
			"There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
	})
}
