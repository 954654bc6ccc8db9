package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// startOfTime is the log time of the first command of every history.
const startOfTime = int64(1_767_225_600_000)

// step is one command of a history. It refers to earlier answers by step and position, never by
// value, so that a history can still be run after the shrinker has removed steps.
type step struct {
	id int
	at int64
	do action
}

func (s step) String() string {
	return fmt.Sprintf("%6d  %+12d ms  %s", s.id, s.at-startOfTime, s.do)
}

// action is the command of a step.
type action interface {
	command(w *world) queue.Command
	String() string
}

// handleRef refers to a receipt handle by the receive that returned it.
type handleRef struct {
	step, index int
	damage      string  // "", "flip", "short", "garbage"
	lock        lockRef // with which it was received
}

func (h handleRef) String() string {
	text := fmt.Sprintf("handle(%d.%d)", h.step, h.index)
	if h.damage != "" {
		text += " " + h.damage
	}
	return text
}

type (
	createQueue struct {
		name string
		attributes
	}
	deleteQueue   struct{ name string }
	setAttributes struct {
		name string
		attributes
	}
	setTags struct {
		name   string
		set    attributes
		remove []string
	}
	purgeQueue struct{ name string }
	setSetting struct{ name, value string }
	advance    struct{}
	send       struct {
		name    string
		sender  string
		batch   bool
		since   int64 // 0: it was not proposed before
		entries []reference.SendEntry
	}
	receive struct {
		name    string
		request reference.ReceiveRequest
	}
	deleteMessages struct {
		name    string
		batch   bool
		handles []handleRef
	}
	changeVisibility struct {
		name    string
		batch   bool
		entries []visibilityRef
	}
	startMove  struct{ source, destination string }
	cancelMove struct {
		task   int // the step that started it
		source string
	}
	moveStep struct {
		task int
		max  int
	}
)

type visibilityRef struct {
	handle  handleRef
	timeout int64
}

type attributes map[string]string

func (a attributes) String() string {
	parts := []string{}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		parts = append(parts, name+"="+a[name])
	}
	return strings.Join(parts, " ")
}

func (c createQueue) String() string   { return fmt.Sprintf("create %s %s", c.name, c.attributes) }
func (c deleteQueue) String() string   { return fmt.Sprintf("delete queue %s", c.name) }
func (c setAttributes) String() string { return fmt.Sprintf("set %s %s", c.name, c.attributes) }
func (c setTags) String() string       { return fmt.Sprintf("tag %s %s -%v", c.name, c.set, c.remove) }
func (c purgeQueue) String() string    { return fmt.Sprintf("purge %s", c.name) }
func (c setSetting) String() string    { return fmt.Sprintf("setting %s=%s", c.name, c.value) }
func (advance) String() string         { return "advance clock" }
func (c startMove) String() string {
	return fmt.Sprintf("start move %s -> %q", c.source, c.destination)
}

func (c cancelMove) String() string {
	return fmt.Sprintf("cancel move task(%d) of %s", c.task, c.source)
}
func (c moveStep) String() string { return fmt.Sprintf("move step task(%d) max %d", c.task, c.max) }

func (c deleteMessages) String() string {
	return fmt.Sprintf("delete %s%s %v", c.name, batchMark(c.batch), c.handles)
}

func (c send) String() string {
	text := fmt.Sprintf("send %s%s", c.name, batchMark(c.batch))
	for _, e := range c.entries {
		text += " " + describeEntry(e)
	}
	return text
}

func batchMark(batch bool) string {
	if batch {
		return " (batch)"
	}
	return ""
}

func describeEntry(e reference.SendEntry) string {
	parts := []string{fmt.Sprintf("body=%.20q", e.Body)}
	if e.Group != nil {
		parts = append(parts, fmt.Sprintf("group=%.20q", *e.Group))
	}
	if e.Dedup != nil {
		parts = append(parts, fmt.Sprintf("dedup=%.20q", *e.Dedup))
	}
	if e.Delay != nil {
		parts = append(parts, fmt.Sprintf("delay=%d", *e.Delay))
	}
	if e.EnqueueAt != nil {
		parts = append(parts, fmt.Sprintf("at=%+d ms", *e.EnqueueAt-startOfTime))
	}
	if e.Partition != nil {
		parts = append(parts, "partition="+*e.Partition)
	}
	for _, a := range e.Attributes {
		value := a.Value
		if a.Name == scheduledName {
			var at int64
			if _, err := fmt.Sscan(value, &at); err == nil {
				value = fmt.Sprintf("%+d ms", at-startOfTime)
			}
		}
		parts = append(parts, fmt.Sprintf("%s=%.20q", a.Name, value))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func (c receive) String() string {
	text := fmt.Sprintf("receive %s", c.name)
	if c.request.Max != nil {
		text += fmt.Sprintf(" max=%d", *c.request.Max)
	}
	if c.request.Visibility != nil {
		text += fmt.Sprintf(" visibility=%d", *c.request.Visibility)
	}
	if c.request.Attempt != nil {
		text += fmt.Sprintf(" attempt=%.20q", *c.request.Attempt)
	}
	return text
}

func (c changeVisibility) String() string {
	text := fmt.Sprintf("visibility %s%s", c.name, batchMark(c.batch))
	for _, e := range c.entries {
		text += fmt.Sprintf(" %s=%d", e.handle, e.timeout)
	}
	return text
}
