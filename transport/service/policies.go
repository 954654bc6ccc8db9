package service

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/auth/iam"
)

// CheckPolicy refuses a command with an access policy that has unknown parts, or a statement that
// can never apply. The node that accepts a command calls it.
func (n Names) CheckPolicy(cmd queue.Command) *queue.Error {
	p, stores := queue.AccessPolicyOf(cmd)
	if !stores {
		return nil
	}
	var err error
	switch {
	case p.Queue != "":
		err = iam.Check(iam.QueuePolicy, n.QueueARN(p.Queue), p.Text)
	case p.Topic != "":
		err = iam.Check(iam.TopicPolicy, n.TopicARN(p.Topic), p.Text)
	default:
		err = iam.Check(iam.UserPolicy, "", p.Text)
	}
	if err != nil {
		return p.Refuse(err.Error())
	}
	return nil
}
