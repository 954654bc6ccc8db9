package fsm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// scenario runs command lines on one replica. It shows ids and handles as labels in order of
// appearance: m1 is a message, r1 a delivery.
type scenario struct {
	t         *testing.T
	replica   *replica
	restoring bool // replace the state by its snapshot after every command
	now       queue.Timestamp
	messages  map[queue.MessageID]string
	handles   map[queue.ReceiptHandle]string
	receipts  map[string]string // label to handle
	tasks     []string
	topics    topics
	sessions  map[string]queue.SessionRef // by label: s1 is a lock
}

func newScenario(t *testing.T, restoring bool) *scenario {
	s := &scenario{
		t:         t,
		restoring: restoring,
		now:       start,
		messages:  make(map[queue.MessageID]string),
		handles:   make(map[queue.ReceiptHandle]string),
		receipts:  make(map[string]string),
		topics:    newTopics(),
		sessions:  make(map[string]queue.SessionRef),
	}
	s.replica = founded(t, Options{Applied: func(_ uint64, _ queue.Timestamp, events []queue.Event) { s.topics.events = events }})
	return s
}

// line runs one command line and returns its answer.
func (s *scenario) line(line string) []string {
	words := split(line)
	verb, args := words[0], words[1:]
	switch verb {
	case "at": // log time since the start of the scenario
		passed, err := time.ParseDuration(args[0])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = start.Add(logtime.Duration(passed.Milliseconds()))
		return nil
	case "snapshot":
		s.replica.restore(s.replica.snapshot())
		s.replica.sound()
		return []string{"restored"}
	case "stats":
		return s.stats(args[0])
	case "attributes":
		return s.attributes(args[0], args[1:])
	case "tasks":
		return s.moveTasks(args[0])
	case "subscription":
		return s.subscriptionAttributes(args[0], args[1:])
	case "topic":
		return s.topicAttributes(args[0], args[1:])
	case "rules":
		return s.rules(args[0])
	}
	if shown := s.look(verb, args); shown != nil {
		return shown
	}
	cmd := s.command(verb, args)
	if cmd == nil {
		cmd = s.topicCommand(verb, args)
	}
	if cmd == nil {
		cmd = s.ruleCommand(verb, line)
	}
	if cmd == nil {
		s.t.Fatalf("no such command: %s", line)
	}
	answer := s.answer(s.replica.apply(s.now, cmd))
	if s.restoring {
		s.replica.restore(s.replica.snapshot())
	}
	return answer
}

// split cuts a line at blanks that are not within single quotes.
func split(line string) []string {
	var words []string
	quoted, open := false, false
	for _, c := range line {
		switch {
		case c == '\'':
			quoted = !quoted
			if !open {
				words, open = append(words, ""), true
			}
		case c == ' ' && !quoted:
			open = false
		default:
			if !open {
				words, open = append(words, ""), true
			}
			words[len(words)-1] += string(c)
		}
	}
	return words
}

// command reads the lines that are commands of package queue.
func (s *scenario) command(verb string, args []string) queue.Command {
	switch verb {
	case "tick": // perhaps the time from which the leader has served
		cmd := &queue.AdvanceClock{}
		if len(args) > 0 {
			cmd.LeadingSince = start.Add(logtime.Duration(s.number(args[0])) * logtime.Second)
		}
		return cmd
	case "note-use":
		return &queue.NoteUse{Queue: args[0]}
	case "setting":
		return &queue.SetClusterSetting{Name: args[0], Value: args[1]}
	case "create":
		return &queue.CreateQueue{Queue: args[0], Attributes: pairs(args[1:])}
	case "delete-queue":
		return &queue.DeleteQueue{Queue: args[0]}
	case "set":
		return &queue.SetQueueAttributes{Queue: args[0], Attributes: pairs(args[1:])}
	case "purge":
		return &queue.PurgeQueue{Queue: args[0]}
	case "send", "send-atomic":
		cmd := s.send(args[0], args[1:])
		cmd.Atomic = verb == "send-atomic"
		return cmd
	case "receive":
		return s.receive(args[0], args[1:])
	case "delete":
		return &queue.DeleteMessages{Queue: args[0], Batch: len(args) > 2, Handles: s.lookup(args[1:])}
	case "visibility":
		return s.visibility(args[0], args[1:])
	case "redrive":
		cmd := &queue.StartMoveTask{Source: args[0]}
		if len(args) > 1 {
			cmd.Destination = args[1]
		}
		return cmd
	case "move":
		return &queue.MoveMessages{TaskID: s.task(args[0]), Max: int(s.number(args[1]))}
	case "cancel":
		return &queue.CancelMoveTask{TaskID: s.task(args[0]), Source: args[1]}
	}
	return s.serviceBus(verb, args)
}

// send reads entries separated by semicolons: body, then key=value words.
func (s *scenario) send(name string, args []string) *queue.SendMessages {
	cmd := &queue.SendMessages{Queue: name, SenderID: "AIDAEXAMPLE"}
	for len(args) > 0 {
		entry := queue.SendEntry{Body: unescaped(args[0])}
		args = args[1:]
		for len(args) > 0 && args[0] != ";" {
			key, value, _ := strings.Cut(args[0], "=")
			switch key {
			case "group":
				entry.GroupID, entry.GroupIDGiven = unescaped(value), true
			case "dedup":
				entry.DeduplicationID, entry.DeduplicationIDGiven = unescaped(value), true
			case "delay":
				entry.DelaySeconds = queue.Some(s.number(value))
			case "scheduled": // seconds since the start of the scenario
				entry.Attributes = append(entry.Attributes, queue.MessageAttribute{
					Name: "seriatim.ScheduledEnqueueTime", DataType: "Number",
					Value: strconv.FormatInt(int64(start)+1000*s.number(value), 10),
				})
			case "partition":
				entry.Attributes = append(entry.Attributes, queue.MessageAttribute{
					Name: "seriatim.PartitionKey", DataType: "String", Value: value,
				})
			case "enqueue", "key", "ttl": // without reserved attributes
				s.option(&entry.Options, key, value)
			case "native":
				entry.Native = true
			case "filled": // to this number of bytes
				entry.Body += strings.Repeat(".", int(s.number(value))-len(entry.Body))
			case "bytes", "amqp": // the sections before the body
				entry.Native, entry.Encoded = true, encoded(key, value)
			default: // a message attribute of type String
				entry.Attributes = append(entry.Attributes, queue.MessageAttribute{Name: key, DataType: "String", Value: value})
			}
			args = args[1:]
		}
		cmd.Entries = append(cmd.Entries, entry)
		if len(args) > 0 {
			args = args[1:]
			cmd.Batch = true
		}
	}
	return cmd
}

func (s *scenario) receive(name string, args []string) queue.Command {
	cmd := &queue.ReceiveMessages{Queue: name, MaxMessages: queue.Some(10)}
	for _, word := range args {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "max":
			cmd.MaxMessages = queue.Some(s.number(value))
		case "visibility":
			cmd.VisibilityTimeout = queue.Some(s.number(value))
		case "attempt":
			cmd.AttemptID, cmd.AttemptIDGiven = value, true
		case "short":
			cmd.ShortPoll = true
		case "session", "destroy":
			s.receiveOption(cmd, key, value)
		default:
			s.t.Fatalf("receive does not know %s", word)
		}
	}
	return cmd
}

func (s *scenario) visibility(name string, args []string) queue.Command {
	cmd := &queue.ChangeMessageVisibility{Queue: name, Batch: len(args) > 1}
	for _, word := range args {
		label, seconds, _ := strings.Cut(word, "=")
		cmd.Entries = append(cmd.Entries, queue.VisibilityEntry{
			Handle: s.lookup([]string{label})[0], VisibilityTimeout: queue.Some(s.number(seconds)),
		})
	}
	return cmd
}

// lookup replaces labels by handles; other words stay.
func (s *scenario) lookup(labels []string) []string {
	out := slices.Clone(labels)
	for i, label := range out {
		label, token := strings.CutPrefix(label, "token:")
		handle, ok := s.receipts[label]
		if h, parsed := identifier.ParseReceiptHandle(handle); token && parsed {
			handle = h.LockToken().String()
		}
		if ok {
			out[i] = handle
		}
	}
	return out
}

func (s *scenario) task(label string) string {
	for i, id := range s.tasks {
		if label == fmt.Sprintf("t%d", i+1) {
			return id
		}
	}
	return label
}

func (s *scenario) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// pairs reads name=value words, sorted as commands have them.
func pairs(words []string) []queue.Attribute {
	var out []queue.Attribute
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		out = append(out, queue.Attribute{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b queue.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return out
}
