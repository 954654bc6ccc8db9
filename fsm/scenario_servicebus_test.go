package fsm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/session"
)

// option reads an option of a message: its scheduled time in seconds since the start of the
// scenario, or its partition key.
func (s *scenario) option(options **queue.SendOptions, key, value string) {
	if *options == nil {
		*options = &queue.SendOptions{}
	}
	switch key {
	case "key":
		(*options).PartitionKey = value
		return
	case "ttl":
		(*options).TimeToLive = logtime.Duration(s.number(value)) * logtime.Second
		return
	}
	(*options).EnqueueAt = start.Add(logtime.Duration(s.number(value)) * logtime.Second)
}

// serviceBus reads commands without an action of SQS.
func (s *scenario) serviceBus(verb string, args []string) queue.Command {
	switch verb {
	case "cancel-scheduled": // queue or topic:name, numbers, and "forget" to free the ids
		cmd := &queue.CancelScheduled{Queue: args[0]}
		if name, topic := strings.CutPrefix(args[0], "topic:"); topic {
			cmd.Queue, cmd.Topic = "", name
		}
		for _, word := range args[1:] {
			if word == "forget" {
				cmd.ForgetDeduplicationID = true
				continue
			}
			cmd.Sequences = append(cmd.Sequences, queue.SequenceNumber(s.number(word)))
		}
		return cmd
	case "delete-stored": // queue, numbers, perhaps "force"
		numbers, force := s.numbers(args[1:])
		return &queue.DeleteStored{Queue: args[0], Sequences: numbers, Force: force}
	case "move-stored": // queue, destination or "back", numbers, perhaps "force"
		numbers, force := s.numbers(args[2:])
		cmd := &queue.MoveStored{Queue: args[0], Destination: args[1], Sequences: numbers, Force: force}
		if args[1] == "back" {
			cmd.Destination = ""
		}
		return cmd
	case "commit": // commands, separated by the word "and"
		return s.transaction(args)
	case "release-group":
		return &queue.ReleaseGroup{Queue: args[0], Group: args[1]}
	case "forget":
		return &queue.ForgetDeduplication{Queue: args[0], DeduplicationID: knownID(args[1:])}
	case "accept": // queue, an id or any, perhaps the seconds, perhaps attempt=id
		attempt, again := strings.CutPrefix(args[len(args)-1], "attempt=")
		if again {
			args = args[:len(args)-1]
		} else {
			attempt = ""
		}
		cmd := &queue.AcceptSession{
			Queue: args[0], SessionID: unescaped(args[1]), SessionIDGiven: true, LockSeconds: s.seconds(args[2:]),
			AttemptID: attempt, AttemptIDGiven: again,
		}
		if args[1] == "any" {
			cmd.SessionID, cmd.SessionIDGiven = "", false
		}
		return cmd
	case "renew": // queue, session, perhaps the seconds
		return &queue.RenewSession{Queue: args[0], Session: s.session(args[1]), LockSeconds: s.seconds(args[2:])}
	case "release":
		return &queue.ReleaseSession{Queue: args[0], Session: s.session(args[1])}
	case "state": // queue, session, the state; without one, it is cleared
		cmd := &queue.SetSessionState{Queue: args[0], Session: s.session(args[1])}
		if len(args) > 2 {
			cmd.State, cmd.StateGiven = args[2], true
		}
		if size, big := strings.CutPrefix(cmd.State, "bytes:"); big {
			cmd.State = strings.Repeat("x", int(s.number(size)))
		}
		return cmd
	}
	return s.settlement(verb, args)
}

// transaction makes a transaction of commands.
func (s *scenario) transaction(words []string) queue.Command {
	commit := &queue.CommitTransaction{}
	for len(words) > 0 {
		end := slices.Index(words, "and")
		if end < 0 {
			end = len(words)
		}
		verb, args := words[0], words[1:end]
		words = words[min(end+1, len(words)):]
		if cmd, ok := s.topicCommand(verb, args).(*queue.Publish); ok {
			commit.Publishes = append(commit.Publishes, *cmd)
			continue
		}
		one := queue.Settlement{Queue: args[0]}
		switch cmd := s.command(verb, args).(type) {
		case *queue.SendMessages:
			cmd.Atomic, cmd.Batch = true, true
			commit.Sends = append(commit.Sends, *cmd)
			continue
		case *queue.DeleteMessages:
			one.Action, one.Session, one.Handle = queue.CompleteMessage, cmd.Options.Session, cmd.Handles[0]
		case *queue.ChangeMessageVisibility:
			one.Action, one.Session, one.Handle, one.Changes = queue.AbandonMessage, cmd.Options.Session, cmd.Entries[0].Handle, cmd.Changes
			if cmd.Options.Uncounted {
				one.Action = queue.GiveBackMessage
			}
		case *queue.Defer:
			one.Action, one.Session, one.Handle, one.Changes = queue.DeferMessage, cmd.Session, cmd.Handles[0], cmd.Changes
		case *queue.DeadLetter:
			one.Action, one.Session, one.DeadLetterEntry, one.Changes = queue.DeadLetterMessage, cmd.Session, cmd.Entries[0], cmd.Changes
		default:
			s.t.Fatalf("no transaction has a %s", verb)
		}
		commit.Settlements = append(commit.Settlements, one)
	}
	if prepared, refused := queue.Prepare(commit); refused == nil {
		return prepared.Command
	}
	return commit
}

// numbers reads sequence numbers and the word force.
func (s *scenario) numbers(words []string) (list []queue.SequenceNumber, force bool) {
	for _, word := range words {
		if word == "force" {
			force = true
			continue
		}
		list = append(list, queue.SequenceNumber(s.number(word)))
	}
	return list, force
}

func (s *scenario) receiveOption(cmd *queue.ReceiveMessages, key, value string) {
	if cmd.Options == nil {
		cmd.Options = &queue.ReceiveOptions{}
	}
	if key == "destroy" {
		cmd.Options.Delete = true
		return
	}
	cmd.Options.Session = s.session(value)
}

// session returns the session of a label: s1 is a lock, x/s1 its token for the session x.
func (s *scenario) session(label string) queue.SessionRef {
	id, lock, other := strings.Cut(label, "/")
	if other {
		return queue.SessionRef{SessionID: id, Token: s.sessions[lock].Token}
	}
	return s.sessions[label]
}

func (s *scenario) seconds(words []string) queue.Int {
	if len(words) == 0 {
		return queue.Int{}
	}
	return queue.Some(s.number(words[0]))
}

// locked shows the lock of a session and labels a new one.
func (s *scenario) locked(r queue.SessionLocked) string {
	if r.SessionID == "" {
		return "no session"
	}
	ref := queue.SessionRef{SessionID: r.SessionID, Token: r.Token.String()}
	label := fmt.Sprintf("s%d", len(s.sessions)+1)
	for known, other := range s.sessions { // order does not matter: each lock occurs once
		if other == ref {
			label = known
		}
	}
	s.sessions[label] = ref
	return fmt.Sprintf("%s = %s until %gs", label, escaped(r.SessionID), float64(r.LockedUntil.Sub(start))/1000)
}

// settlement reads commands about received and deferred messages. After the queue come labels and
// numbers; session=s1 is their session.
func (s *scenario) settlement(verb string, args []string) queue.Command {
	var in queue.SessionRef
	visibility, destroy, uncounted := queue.Int{}, false, false
	var changes []queue.PropertyChange
	words := slices.DeleteFunc(slices.Clone(args[min(1, len(args)):]), func(word string) bool {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "session":
			in = s.session(value)
		case "visibility":
			visibility = queue.Some(s.number(value))
		case "destroy":
			destroy = true
		case "uncounted":
			uncounted = true
		case "user", "sys": // name:value, empty to remove
			changes = append(changes, change(key, value))
		default:
			return false
		}
		return true
	})
	switch verb {
	case "complete":
		return &queue.DeleteMessages{Queue: args[0], Handles: s.lookup(words), Options: &queue.SettlementOptions{Session: in}}
	case "abandon":
		return &queue.ChangeMessageVisibility{
			Queue: args[0], Options: &queue.SettlementOptions{Session: in, Uncounted: uncounted},
			Entries: []queue.VisibilityEntry{{Handle: s.lookup(words)[0], VisibilityTimeout: queue.Some(visibility.Value)}},
			Changes: changes,
		}
	case "defer":
		return &queue.Defer{Queue: args[0], Session: in, Handles: s.lookup(words), Changes: changes}
	case "receive-deferred":
		cmd := &queue.ReceiveDeferred{Queue: args[0], Session: in, VisibilityTimeout: visibility, Delete: destroy}
		for _, word := range words {
			cmd.Sequences = append(cmd.Sequences, queue.SequenceNumber(s.number(word)))
		}
		return cmd
	case "dead-letter": // label, reason, description
		return &queue.DeadLetter{Queue: args[0], Session: in, Entries: []queue.DeadLetterEntry{
			{Handle: s.lookup(words)[0], Reason: words[1], Description: words[2]},
		}, Changes: changes}
	}
	return nil
}

// look shows a part of the state that clients read without a command.
func (s *scenario) look(verb string, args []string) []string {
	switch verb {
	case "peek": // queue, number to begin at, perhaps a group
		group := ""
		if len(args) > 2 {
			group = args[2]
		}
		return s.peek(args[0], queue.SequenceNumber(s.number(args[1])), group)
	case "scheduled": // topic, number to begin at
		return s.scheduled(args[0], queue.SequenceNumber(s.number(args[1])))
	case "known-topic": // topic, id
		known, found, err := s.replica.fsm.View().KnownTopicID(args[0], knownID(args[1:]))
		return s.knownID(s.topics.publications[known.MessageID], known, found, err)
	case "known":
		return s.known(args[0], knownID(args[1:]))
	case "known-ids":
		return s.knownIDs(args[0])
	case "show-state":
		return s.showState(args[0], s.session(args[1]))
	case "sessions": // queue, limit, perhaps the position after which to list
		after := session.Position{}
		if len(args) > 3 {
			after = session.Position{At: start.Add(logtime.Duration(s.number(args[2])) * logtime.Second), Name: args[3]}
		}
		return s.listSessions(args[0], int(s.number(args[1])), after)
	case "waits": // queue, perhaps a session: would its receive find something?
		v := s.replica.fsm.View()
		if len(args) > 1 {
			return []string{fmt.Sprint("session deliverable ", v.SessionDeliverable(args[0], s.session(args[1])))}
		}
		return []string{fmt.Sprintf("deliverable %v, session free %v", v.Deliverable(args[0]), v.SessionFree(args[0]))}
	}
	return nil
}

// knownID reads an id, then group=g and key=k.
func knownID(words []string) queue.DeduplicationID {
	id := queue.DeduplicationID{ID: words[0]}
	for _, word := range words[1:] {
		if key, value, _ := strings.Cut(word, "="); key == "group" {
			id.GroupID = value
		} else {
			id.PartitionKey = value
		}
	}
	return id
}

func (s *scenario) known(name string, id queue.DeduplicationID) []string {
	known, found, err := s.replica.fsm.View().KnownID(name, id)
	if !found {
		return s.knownID("", known, found, err)
	}
	return s.knownID(s.message(known.MessageID), known, found, err)
}

func (s *scenario) knownID(label string, known queue.KnownID, found bool, err *queue.Error) []string {
	switch {
	case err != nil:
		return []string{s.refusal(err)}
	case !found:
		return []string{"unknown"}
	}
	return []string{fmt.Sprintf("%s%s %s, scope %d, accepted at %ds, forgotten at %ds", label, number(known.Sequence),
		known.State, known.Scope, known.AcceptedAt.Sub(start)/logtime.Second, known.ForgottenAt.Sub(start)/logtime.Second)}
}

func (s *scenario) knownIDs(name string) []string {
	stats, err := s.replica.fsm.View().DeduplicationStats(name)
	if err != nil {
		return []string{s.refusal(err)}
	}
	return []string{fmt.Sprintf("%d live, %d kept, by scope %v, oldest at %ds, window %ds, at most %d, %d bytes", stats.Live, stats.Kept,
		stats.ByScope,
		max(0, stats.OldestAt.Sub(start)/logtime.Second), stats.WindowSeconds, stats.EntriesMax, stats.Bytes)}
}

func (s *scenario) showState(name string, ref queue.SessionRef) []string {
	state, given, err := s.replica.fsm.View().SessionState(name, ref)
	switch {
	case err != nil:
		return []string{s.refusal(err)}
	case !given:
		return []string{"null"}
	case len(state) > 100:
		return []string{fmt.Sprint(len(state), " bytes")}
	}
	return []string{fmt.Sprintf("%q", state)}
}

func (s *scenario) listSessions(name string, limit int, after session.Position) []string {
	list, err := s.replica.fsm.View().Sessions(name, after, limit)
	if err != nil {
		return []string{s.refusal(err)}
	}
	lines := []string{}
	for _, one := range list {
		line := fmt.Sprintf("%s set at %ds, %d bytes", one.SessionID, one.StateSetAt.Sub(start)/logtime.Second, one.StateBytes)
		if one.LockedUntil != 0 {
			line += fmt.Sprintf(", locked until %ds", one.LockedUntil.Sub(start)/logtime.Second)
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *scenario) peek(name string, from queue.SequenceNumber, group string) []string {
	peeked, err := s.replica.fsm.View().Peek(name, from, group, 10)
	if err != nil {
		return []string{s.refusal(err)}
	}
	if len(peeked) == 0 {
		return []string{"nothing"}
	}
	var lines []string
	for _, p := range peeked {
		line := fmt.Sprintf("%s %q%s %s count %d", s.message(p.MessageID), p.Body.String(), number(p.Sequence), p.State, p.ReceiveCount)
		if p.State == "scheduled" {
			line += fmt.Sprintf(" until %ds", p.VisibleAt.Sub(start)/logtime.Second)
		}
		if (p.Handle != queue.ReceiptHandle{}) {
			line += " with a handle"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}
