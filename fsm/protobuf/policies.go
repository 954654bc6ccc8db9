package protobuf

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/policy"
)

// RedriveMessage converts a redrive policy.
func RedriveMessage(p *policy.Redrive) *fsmpb.RedrivePolicy {
	if p == nil {
		return nil
	}
	return &fsmpb.RedrivePolicy{Text: p.Text, Target: p.Target, MaxReceiveCount: p.MaxReceiveCount}
}

// RedrivePolicy is the inverse of RedriveMessage.
func RedrivePolicy(m *fsmpb.RedrivePolicy) *policy.Redrive {
	if m == nil {
		return nil
	}
	return &policy.Redrive{Text: m.Text, Target: m.Target, MaxReceiveCount: m.MaxReceiveCount}
}

// QueuePolicies returns the policies of a command. It refuses a receive count that no client can
// set: with 0, a message would be dead-lettered before its first receive, and every node would
// crash at each start.
func QueuePolicies(redrive *fsmpb.RedrivePolicy, allow *fsmpb.RedriveAllowPolicy) (queue.Policies, error) {
	p := queue.Policies{Redrive: RedrivePolicy(redrive), RedriveAllow: RedriveAllowPolicy(allow)}
	if r := p.Redrive; r != nil && r.Target != "" && (r.MaxReceiveCount < 1 || r.MaxReceiveCount > policy.MaxReceiveCountMax) {
		return queue.Policies{}, fmt.Errorf("%w: a redrive policy with a count of %d", format.ErrMalformed, r.MaxReceiveCount)
	}
	return p, nil
}

// RedriveAllowMessage converts the policy of a dead-letter queue.
func RedriveAllowMessage(p *policy.RedriveAllow) *fsmpb.RedriveAllowPolicy {
	if p == nil {
		return nil
	}
	return &fsmpb.RedriveAllowPolicy{Text: p.Text, DenyAll: p.DenyAll, ByQueueGiven: p.ByQueue != nil, ByQueue: p.ByQueue}
}

// RedriveAllowPolicy is the inverse of RedriveAllowMessage.
func RedriveAllowPolicy(m *fsmpb.RedriveAllowPolicy) *policy.RedriveAllow {
	if m == nil {
		return nil
	}
	p := &policy.RedriveAllow{Text: m.Text, DenyAll: m.DenyAll, ByQueue: m.ByQueue}
	if p.ByQueue == nil && m.ByQueueGiven {
		p.ByQueue = []string{}
	}
	return p
}
