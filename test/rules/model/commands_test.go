package model

import (
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
)

func (a attributes) list() []queue.Attribute {
	var list []queue.Attribute
	for _, name := range slices.Sorted(maps.Keys(a)) {
		list = append(list, queue.Attribute{Name: name, Value: a[name]})
	}
	return list
}

func (c createQueue) command(*world) queue.Command {
	return &queue.CreateQueue{Queue: c.name, Attributes: c.list()}
}

func (c deleteQueue) command(*world) queue.Command { return &queue.DeleteQueue{Queue: c.name} }

func (c setAttributes) command(*world) queue.Command {
	return &queue.SetQueueAttributes{Queue: c.name, Attributes: c.list()}
}

func (c setTags) command(*world) queue.Command {
	cmd := &queue.SetQueueTags{Queue: c.name, Remove: slices.Sorted(slices.Values(c.remove))}
	for _, key := range slices.Sorted(maps.Keys(c.set)) {
		cmd.Set = append(cmd.Set, queue.Tag{Key: key, Value: c.set[key]})
	}
	return cmd
}

func (c purgeQueue) command(*world) queue.Command { return &queue.PurgeQueue{Queue: c.name} }

func (c setSetting) command(*world) queue.Command {
	return &queue.SetClusterSetting{Name: c.name, Value: c.value}
}

func (a advance) command(*world) queue.Command {
	return &queue.AdvanceClock{LeadingSince: queue.Timestamp(a.since)}
}

func (c send) command(*world) queue.Command {
	cmd := &queue.SendMessages{Queue: c.name, SenderID: c.sender, Batch: c.batch, Atomic: c.atomic, RepeatedSince: queue.Timestamp(c.since)}
	for i, e := range c.entries {
		p := queue.SendEntry{Body: e.Body, TraceHeader: e.Trace, DelaySeconds: given(e.Delay), Native: e.Native, Encoded: encoded(e.Parts)}
		for _, a := range e.Attributes {
			p.Attributes = append(p.Attributes, queue.MessageAttribute{Name: a.Name, DataType: a.Type, Value: a.Value})
		}
		if e.Group != nil {
			p.GroupID, p.GroupIDGiven = *e.Group, true
		}
		if e.Dedup != nil {
			p.DeduplicationID, p.DeduplicationIDGiven = *e.Dedup, true
		}
		if e.EnqueueAt != nil || e.Partition != nil || e.TimeToLive != nil {
			p.Options = &queue.SendOptions{}
			if e.TimeToLive != nil {
				p.Options.TimeToLive = logtime.Duration(*e.TimeToLive)
			}
			if e.EnqueueAt != nil {
				p.Options.EnqueueAt = queue.Timestamp(*e.EnqueueAt)
			}
			if e.Partition != nil {
				p.Options.PartitionKey = *e.Partition
			}
		}
		// The accepting node may have hashed the body already.
		if (len(e.Body)+i)%2 == 0 {
			sum := sha256.Sum256([]byte(e.Body))
			p.ContentHash = sum[:]
		}
		cmd.Entries = append(cmd.Entries, p)
	}
	return cmd
}

func given(v *int64) queue.Int {
	if v == nil {
		return queue.Int{}
	}
	return queue.Some(*v)
}

func (c receive) command(*world) queue.Command {
	cmd := &queue.ReceiveMessages{
		Queue: c.name, MaxMessages: given(c.request.Max), VisibilityTimeout: given(c.request.Visibility),
	}
	if c.request.Attempt != nil {
		cmd.AttemptID, cmd.AttemptIDGiven = *c.request.Attempt, true
	}
	return cmd
}

func (c deleteMessages) command(w *world) queue.Command {
	cmd := &queue.DeleteMessages{Queue: c.name, Batch: c.batch}
	for _, ref := range c.handles {
		cmd.Handles = append(cmd.Handles, w.handle(ref))
	}
	return cmd
}

func (c changeVisibility) command(w *world) queue.Command {
	cmd := &queue.ChangeMessageVisibility{Queue: c.name, Batch: c.batch}
	for _, e := range c.entries {
		cmd.Entries = append(cmd.Entries, queue.VisibilityEntry{
			Handle: w.handle(e.handle), VisibilityTimeout: queue.Some(e.timeout),
		})
	}
	return cmd
}

func (c startMove) command(*world) queue.Command {
	return &queue.StartMoveTask{Source: c.source, Destination: c.destination}
}

func (c cancelMove) command(w *world) queue.Command {
	return &queue.CancelMoveTask{TaskID: w.task(c.task), Source: c.source}
}

func (c moveStep) command(w *world) queue.Command {
	return &queue.MoveMessages{TaskID: w.task(c.task), Max: c.max}
}

// task is the id of the task that a step started, or one that no task has.
func (w *world) task(step int) string {
	if id, ok := w.tasks[step]; ok {
		return id
	}
	return "00000000-0000-0000-0000-000000000000"
}
