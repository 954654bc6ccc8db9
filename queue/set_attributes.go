package queue

import (
	"strconv"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// SetQueueAttributes merges attributes into a queue's, all or none.
type SetQueueAttributes struct {
	Queue      string
	Attributes []Attribute // sorted by name, names distinct
	Policies   Policies    // filled by Prepare
}

// QueueName implements Command.
func (c *SetQueueAttributes) QueueName() string { return c.Queue }

// Validate checks the attributes as far as a queue of this name has them.
func (c *SetQueueAttributes) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	return attributes.Check(isFIFOName(c.Queue), c.Attributes)
}

// wellFormed checks nothing: the attributes are checked against the queue.
func (c *SetQueueAttributes) wellFormed() *Error { return nil }

func (c *SetQueueAttributes) prepare() (Prepared, *Error) {
	if err := c.Validate(); err != nil {
		return Prepared{}, err
	}
	ready := *c
	ready.Policies = attributes.ParsePolicies(c.Attributes)
	return Prepared{Command: &ready}, nil
}

func (c *SetQueueAttributes) refuse(q *Queue) (Result, *Error) { //nolint:unparam // as refuser has it
	_, err := q.attributes.WithChanges(c.Attributes, attributes.Assignment{MinimumWindow: 1})
	return nil, err
}

// apply merges attributes, all or none.
func (c *SetQueueAttributes) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	changed, err := q.attributes.WithChanges(c.Attributes, b.assignment(c.Policies))
	if err == nil {
		err = b.checkRedrive(q.name, changed.FIFO, changed.Redrive, c.Attributes)
	}
	if err == nil {
		err = b.checkImplicitDeadLetter(q.name, &changed)
	}
	if err != nil {
		return nil, err
	}
	target, _ := q.deadLetterTarget()
	q.attributes = changed
	q.deduplication.SetRules(changed.Deduplication, b.now)
	q.modified(b.now)
	b.followRedrive(q, target)
	b.addImplicitDeadLetter(q)
	return Done{}, nil
}

// modified notes a change of attributes or tags.
func (q *Queue) modified(now Timestamp) {
	q.modifiedAt = now
	q.sums.headerStale = true
}

// SetQueueTags adds or overwrites tags and removes keys.
type SetQueueTags struct {
	Queue  string
	Set    []Tag    // sorted by key
	Remove []string // sorted
}

// QueueName implements Command.
func (c *SetQueueTags) QueueName() string { return c.Queue }

// Validate checks keys and values. Whether the queue has room for the tags is
// checked when the command is applied.
func (c *SetQueueTags) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if len(c.Remove) > tagsRemovedMax {
		return refusal.InvalidParameter("No more than ", strconv.Itoa(tagsRemovedMax), " tag keys can be removed in one request.")
	}
	return c.wellFormed()
}

// wellFormed is Validate without bounds that only spare the log.
func (c *SetQueueTags) wellFormed() *Error {
	if len(c.Set) == 0 && len(c.Remove) == 0 {
		return refusal.MissingParameter("Tags")
	}
	for _, key := range c.Remove {
		if err := attributes.CheckTagKey(key); err != nil {
			return err
		}
	}
	return attributes.CheckTags(c.Queue, c.Set)
}

// apply is TagQueue and UntagQueue. Removing unknown keys is fine.
func (c *SetQueueTags) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	var tags btree.Map[string, string]
	for _, t := range q.tags {
		tags.Set(t.Key, t.Value)
	}
	for _, t := range c.Set {
		tags.Set(t.Key, t.Value)
	}
	for _, key := range c.Remove {
		tags.Delete(key)
	}
	if tags.Len() > limits.TagsMax {
		return nil, attributes.TooManyTags(q.name)
	}
	merged := make([]Tag, 0, tags.Len())
	tags.Scan(func(key, value string) bool {
		merged = append(merged, Tag{Key: key, Value: value})
		return true
	})
	q.tags = merged
	q.sums.headerStale = true
	return Done{}, nil
}
