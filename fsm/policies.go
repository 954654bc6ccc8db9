package fsm

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue/policy"
)

func redriveMessage(p *policy.Redrive) *fsmpb.RedrivePolicy {
	if p == nil {
		return nil
	}
	return &fsmpb.RedrivePolicy{Text: p.Text, Target: p.Target, MaxReceiveCount: p.MaxReceiveCount}
}

// redrivePolicy is the inverse of redriveMessage.
func redrivePolicy(m *fsmpb.RedrivePolicy) *policy.Redrive {
	if m == nil {
		return nil
	}
	return &policy.Redrive{Text: m.Text, Target: m.Target, MaxReceiveCount: m.MaxReceiveCount}
}

func redriveAllowMessage(p *policy.RedriveAllow) *fsmpb.RedriveAllowPolicy {
	if p == nil {
		return nil
	}
	return &fsmpb.RedriveAllowPolicy{Text: p.Text, DenyAll: p.DenyAll, ByQueueGiven: p.ByQueue != nil, ByQueue: p.ByQueue}
}

// redriveAllowPolicy is the inverse of redriveAllowMessage.
func redriveAllowPolicy(m *fsmpb.RedriveAllowPolicy) *policy.RedriveAllow {
	if m == nil {
		return nil
	}
	p := &policy.RedriveAllow{Text: m.Text, DenyAll: m.DenyAll, ByQueue: m.ByQueue}
	if p.ByQueue == nil && m.ByQueueGiven {
		p.ByQueue = []string{}
	}
	return p
}
