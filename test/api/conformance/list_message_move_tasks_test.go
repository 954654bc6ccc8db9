package conformance

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestListMessageMoveTasksRunning(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.std(t, nil)
		c.fillDeadLetters(t, target, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
		start := time.Now()
		handle := c.move(t, &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(arn(target)), MaxNumberOfMessagesPerSecond: aws.Int32(1)})
		tasks := c.moveTasks(t, target, 0)
		if len(tasks) != 1 {
			t.Fatalf("%d tasks are listed, want one", len(tasks))
		}
		if !before(t, start, 5*time.Second) {
			return
		}
		task := tasks[0]
		if aws.ToString(task.Status) != "RUNNING" || aws.ToInt32(task.MaxNumberOfMessagesPerSecond) != 1 ||
			aws.ToString(task.TaskHandle) != handle {
			t.Errorf("entry %+v", task)
		}
		if task.DestinationArn != nil || aws.ToInt64(task.ApproximateNumberOfMessagesToMove) != 10 {
			t.Errorf("destination %q, to move %d", aws.ToString(task.DestinationArn), aws.ToInt64(task.ApproximateNumberOfMessagesToMove))
		}
	})
}

func TestListMessageMoveTasksNewestFirst(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.std(t, nil)
		for _, body := range []string{"a", "b"} {
			c.fillDeadLetters(t, target, body)
			c.move(t, &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(arn(target))})
			c.moveEnds(t, target, "COMPLETED")
		}
		if tasks := c.moveTasks(t, target, 0); len(tasks) != 1 {
			t.Errorf("%d tasks are listed by default, want one", len(tasks))
		}
		tasks := c.moveTasks(t, target, 10)
		if len(tasks) != 2 || tasks[0].StartedTimestamp < tasks[1].StartedTimestamp {
			t.Errorf("tasks %+v", tasks)
		}
	})
}

func TestListMessageMoveTasksUnknownSource(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, got := call(t, c.sqs.ListMessageMoveTasks, &sqs.ListMessageMoveTasksInput{SourceArn: aws.String(arn(c.missing(t)))}, nil)
		refused(t, got, "ResourceNotFoundException", "The resource that you specified for the SourceArn parameter doesn't exist.")
	})
}

func TestListMessageMoveTasksDestinationDeleted(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target, destination := c.std(t, nil), c.std(t, nil)
		c.fillDeadLetters(t, target, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
		start := time.Now()
		c.move(t, &sqs.StartMessageMoveTaskInput{
			SourceArn: aws.String(arn(target)), DestinationArn: aws.String(arn(destination)), MaxNumberOfMessagesPerSecond: aws.Int32(1),
		})
		c.deleteQueue(t, destination)
		if !before(t, start, 5*time.Second) {
			return
		}
		failed := c.moveEnds(t, target, "FAILED")
		if reason := aws.ToString(failed.FailureReason); reason != "AWS.SimpleQueueService.NonExistentQueue" {
			t.Errorf("FailureReason %q", reason)
		}
	})
}
