package cluster

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/deduplication"
)

// resendSafe reports whether the queue or the topic would recognise every message of a
// send or a publish that may already be in it. The rules are those of now, proven by a
// read barrier. It spares repetitions that would likely be refused; a new leader's
// clock, a purge or a change may still come first, so that repeat has the last word.
func (n *Node) resendSafe(ctx context.Context, r *request) bool {
	if _, err := n.readBarrier(ctx); err != nil {
		return false
	}
	elapsed := n.cfg.Clock.Monotonic() - r.started
	safe := false
	n.replica.Read(func(v queue.View) {
		rules, explicit, deduplicates := sendRules(v, r.cmd)
		window := time.Duration(rules.WindowSeconds) * time.Second
		safe = deduplicates && (explicit || rules.ContentBased) && 4*elapsed <= window
	})
	return safe
}

// sendRules are the rules that a send or a publish is deduplicated by, and whether each
// of its messages has an id of its own. Nothing deduplicates what goes to a standard
// queue or topic, or to one that does not exist.
func sendRules(v queue.View, cmd queue.Command) (rules deduplication.Rules, explicit, deduplicates bool) {
	explicit = true
	switch cmd := cmd.(type) {
	case *queue.SendMessages:
		for i := range cmd.Entries {
			explicit = explicit && cmd.Entries[i].DeduplicationIDGiven
		}
		attributes, unknown := v.Typed(cmd.Queue)
		return attributes.Deduplication, explicit, unknown == nil && attributes.FIFO && !attributes.Deduplication.Disabled
	case *queue.Publish:
		for i := range cmd.Entries {
			explicit = explicit && cmd.Entries[i].DeduplicationIDGiven
		}
		attributes, unknown := v.TypedTopic(cmd.Topic)
		return attributes.Deduplication, explicit, unknown == nil && attributes.FIFO
	}
	return rules, false, false
}

// repeated reports whether r is a send or a publish that was made again.
func (r *request) repeated() bool {
	switch cmd := r.cmd.(type) {
	case *queue.SendMessages:
		return cmd.RepeatedSince != 0
	case *queue.Publish:
		return cmd.RepeatedSince != 0
	}
	return false
}

// repeat makes a send or a publish that may be in the log one that is refused unless
// what was accepted since is known: until it is applied there may be a purge, a change
// of the rules, or an end of the window by a clock that was ahead.
func (r *request) repeat() error {
	if r.repeated() {
		return nil
	}
	var again queue.Command
	switch cmd := r.cmd.(type) {
	case *queue.SendMessages:
		changed := *cmd
		changed.RepeatedSince = max(r.since, 1)
		again = &changed
	case *queue.Publish:
		changed := *cmd
		changed.RepeatedSince = max(r.since, 1)
		again = &changed
	default:
		return nil
	}
	frame, err := codec.AppendCommand(nil, again)
	if err == nil {
		r.cmd, r.frame = again, codec.SameOperation(r.frame, frame)
	}
	return err
}
