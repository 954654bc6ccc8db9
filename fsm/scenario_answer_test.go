package fsm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// answer shows a response, one line per message or entry.
func (s *scenario) answer(r codec.Response) []string {
	if r.Err != nil {
		return []string{s.refusal(r.Err)}
	}
	switch result := r.Result.(type) {
	case queue.Done:
		return []string{"ok"}
	case queue.QueueCreated:
		return []string{"created " + result.Queue}
	case queue.MessagesSent:
		return s.sent(result)
	case queue.MessagesReceived:
		return s.received(result)
	case queue.EntriesDone:
		var lines []string
		for _, err := range result.Errs {
			if err != nil {
				lines = append(lines, s.refusal(err))
			} else {
				lines = append(lines, "ok")
			}
		}
		return lines
	case queue.SessionLocked:
		return []string{s.locked(result)}
	case queue.TransactionCommitted:
		lines := []string{"committed"}
		for _, sent := range result.Sends {
			lines = append(lines, s.sent(sent)...)
		}
		for _, published := range result.Publishes {
			shown, _ := s.topicAnswer(published)
			lines = append(lines, shown...)
		}
		return lines
	case queue.StoredMoved:
		var lines []string
		for _, e := range result.Entries {
			if e.Err != nil {
				lines = append(lines, s.refusal(e.Err))
				continue
			}
			lines = append(lines, fmt.Sprintf("moved to %s%s", e.Destination, number(e.Sequence)))
		}
		return lines
	case queue.GroupReleased:
		return []string{fmt.Sprintf("released %d messages, session %v", result.Messages, result.Session)}
	case queue.MoveTaskStarted:
		s.tasks = append(s.tasks, result.TaskID)
		return []string{fmt.Sprintf("started t%d", len(s.tasks))}
	case queue.MoveTaskCancelled:
		return []string{fmt.Sprintf("cancelled, moved %d", result.Moved)}
	case queue.MessagesMoved:
		return []string{fmt.Sprintf("moved %d, running %v", result.Moved, result.Running)}
	}
	lines, ok := s.topicAnswer(r.Result)
	if !ok {
		s.t.Fatalf("no words for %T", r.Result)
	}
	return lines
}

// refusal shows an error with labels in place of handles.
func (s *scenario) refusal(err *queue.Error) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(err.Message, `\x`), "\x00", `\x00`)
	for handle, label := range s.handles {
		text = strings.ReplaceAll(text, handle.String(), label)
	}
	return fmt.Sprintf("refused %d: %s", err.Code, text)
}

// message is the label of a message id.
func (s *scenario) message(id queue.MessageID) string {
	label, known := s.messages[id]
	if !known {
		label = fmt.Sprintf("m%d", len(s.messages)+1)
		s.messages[id] = label
	}
	return label
}

func (s *scenario) sent(r queue.MessagesSent) []string {
	var lines []string
	for _, e := range r.Entries {
		switch {
		case e.Err != nil:
			lines = append(lines, s.refusal(e.Err))
			continue
		case e.Duplicate:
			line := "duplicate of " + s.message(e.MessageID) + number(e.Sequence)
			if e.FirstIsScheduled {
				line += fmt.Sprintf(", still scheduled, accepted at %ds", e.FirstAcceptedAt.Sub(start)/logtime.Second)
			}
			lines = append(lines, line)
		default:
			lines = append(lines, "sent "+s.message(e.MessageID)+number(e.Sequence))
		}
	}
	return lines
}

// number returns a sequence number in the short form of the scenarios; empty: none.
func number(n queue.SequenceNumber) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" #%d", n)
}

func (s *scenario) received(r queue.MessagesReceived) []string {
	if len(r.Messages) == 0 {
		return []string{"nothing"}
	}
	var lines []string
	if r.Replayed {
		lines = append(lines, "replayed:")
	}
	for _, m := range r.Messages {
		label, known := s.handles[m.Handle]
		if m.Handle == (queue.ReceiptHandle{}) {
			label = "gone"
		} else if !known {
			label = fmt.Sprintf("r%d", len(s.handles)+1)
			s.handles[m.Handle], s.receipts[label] = label, m.Handle.String()
		}
		line := fmt.Sprintf("%s = %s %s%s count %d", label, s.message(m.MessageID), s.body(m.Body.String()), number(m.Sequence),
			m.ReceiveCount)
		for _, word := range []struct{ name, value string }{
			{"group", m.GroupID}, {"dedup", s.deduplicationID(m)}, {"from", m.DeadLetterSource},
		} {
			if word.value != "" {
				line += " " + word.name + "=" + escaped(word.value)
			}
		}
		for _, a := range m.Attributes {
			line += fmt.Sprintf(" %s=%s", a.Name, a.Value)
		}
		line += parts(m.Encoded)
		lines = append(lines, line)
	}
	return lines
}

// deduplicationID shows an id that is a message id by its label: a dead-letter
// move replaces one by the other.
func (s *scenario) deduplicationID(m queue.ReceivedMessage) string {
	for id, label := range s.messages {
		if m.DeduplicationID == id.String() {
			return label
		}
	}
	return m.DeduplicationID
}

func (s *scenario) stats(name string) []string {
	stats, err := s.replica.fsm.View().Stats(name)
	if err != nil {
		return []string{s.refusal(err)}
	}
	deferred := ""
	if stats.Deferred > 0 {
		deferred = fmt.Sprintf(", deferred %d", stats.Deferred)
	}
	return []string{fmt.Sprintf("visible %d, in flight %d, delayed %d%s, groups %d, deduplication ids %d",
		stats.Visible, stats.NotVisible, stats.Delayed, deferred, stats.Groups, stats.DeduplicationEntries)}
}

// attributes shows the named attributes, or all.
func (s *scenario) attributes(name string, wanted []string) []string {
	list, err := s.replica.fsm.View().Attributes(name)
	if err != nil {
		return []string{s.refusal(err)}
	}
	var lines []string
	for _, a := range list {
		if len(wanted) == 0 || slices.Contains(wanted, a.Name) {
			lines = append(lines, a.Name+"="+a.Value)
		}
	}
	return lines
}

func (s *scenario) moveTasks(source string) []string {
	tasks, err := s.replica.fsm.View().MoveTasks(source, limits.MoveTasksListedMax)
	if err != nil {
		return []string{s.refusal(err)}
	}
	status := map[queue.MoveTaskStatus]string{
		queue.MoveTaskRunning: "running", queue.MoveTaskCompleted: "completed",
		queue.MoveTaskStopped: "stopped", queue.MoveTaskFailed: "failed",
	}
	var lines []string
	for _, task := range tasks {
		line := fmt.Sprintf("t%d %s, moved %d of %d", slices.Index(s.tasks, task.ID)+1, status[task.Status], task.Moved, task.ToMove)
		if task.FailureReason != "" {
			line += ", " + task.FailureReason
		}
		lines = append(lines, line)
	}
	return lines
}
