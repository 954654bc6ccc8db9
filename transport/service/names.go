package service

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Names holds the account and the region in the ARNs and URLs of the cluster.
type Names struct {
	Account string // 12 digits
	Region  string
	// AnyRegion accepts any region in the ARNs of requests.
	AnyRegion bool
}

// Elsewhere reports whether an ARN in a request names another region, where no resource exists
// (AWS).
func (n Names) Elsewhere(text string) bool { return !n.AnyRegion && arn.RegionOf(text) != n.Region }

// CheckRedrive refuses a dead-letter queue of another region in the attributes of a queue.
func (n Names) CheckRedrive(given []queue.Attribute) *queue.Error {
	sent, target := redriveTarget(given)
	if target == "" || !n.Elsewhere(target) {
		return nil
	}
	return attributes.RedriveTargetMissing(sent)
}

// CheckDeadLetter refuses a dead-letter queue of another region in the attributes of a
// subscription.
func (n Names) CheckDeadLetter(given []queue.Attribute) *queue.Error {
	if _, target := redriveTarget(given); target == "" || !n.Elsewhere(target) {
		return nil
	}
	return refusal.SNSInvalid("RedrivePolicy: deadLetterTargetArn is an ARN of another region")
}

// redriveTarget returns the text of a RedrivePolicy and the ARN of the queue in it, empty if there
// is none.
func redriveTarget(given []queue.Attribute) (sent, target string) {
	sent, _ = attributes.ValueOf(given, "RedrivePolicy")
	target = policy.RedriveTargetARN(sent)
	if _, ok := arn.Queue(target); !ok {
		return sent, ""
	}
	return sent, target
}

// ID returns the number of an account, which the state calls owner.
func (n Names) ID(owner string) string {
	if owner == "" {
		return n.Account
	}
	return owner
}

// owner returns the name of an account in the state: the inverse of ID.
func (n Names) owner(id string) string {
	if id == n.Account {
		return ""
	}
	return id
}

// QueueARN returns the ARN of a queue, whose name is qualified.
func (n Names) QueueARN(qualified string) string {
	owner, name := access.Split(qualified)
	return arn.OfQueue(n.Region, n.ID(owner), name)
}

// TopicARN returns the ARN of a topic, whose name is qualified.
func (n Names) TopicARN(qualified string) string {
	owner, name := access.Split(qualified)
	return arn.OfTopic(n.Region, n.ID(owner), name)
}

// QueueURL returns the URL of a queue, whose name is qualified, below base, which is the scheme and
// the host in the request of the client. The path has exactly two segments; Terraform and KEDA
// reject any other.
func (n Names) QueueURL(base, qualified string) string {
	owner, name := access.Split(qualified)
	return base + "/" + n.ID(owner) + "/" + name
}
