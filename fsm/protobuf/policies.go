package protobuf

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
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
