package fsm

import (
	"fmt"
	"math/rand/v2"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// accountCommands generates commands of accounts with quotas, whose queues and topics share names
// with others. Their own random source and handles keep the other commands unchanged.
type accountCommands struct {
	random *rand.Rand
	queues map[string][]string // handles; looked up, never iterated
	seen   map[string]int
}

func newAccountCommands(seen map[string]int) *accountCommands {
	seen["logs"]++
	return &accountCommands{random: rand.New(rand.NewPCG(3, uint64(seen["logs"]))), queues: map[string][]string{}, seen: seen}
}

func (c *accountCommands) one(list ...string) string { return list[c.random.IntN(len(list))] }

func (c *accountCommands) quota() access.Quota {
	return access.Quota{Queues: c.random.Int64N(4), Topics: c.random.Int64N(2), Messages: c.random.Int64N(8), Bytes: c.random.Int64N(30)}
}

// command changes an account or its resources.
func (c *accountCommands) command(topics bool) queue.Command {
	owner := c.one("111111111111", "222222222222")
	name := access.Qualify(owner, c.one("a.fifo", "dead.fifo"))
	n := c.random.IntN(36)
	if n >= 26 && topics {
		return c.topicCommand(owner)
	}
	switch {
	case n < 2:
		return &access.CreateAccount{Account: owner, Quota: c.quota()}
	case n < 3:
		return &access.SetAccountQuota{Account: c.one(owner, owner, ""), Quota: access.Quota{Queues: 6}}
	case n < 4:
		return &access.SetAccountQuota{Account: owner, Quota: c.quota()}
	case n < 5:
		return &access.DeleteAccount{Account: owner}
	case n < 6 && c.random.IntN(2) == 0:
		return &access.DeleteAccessKey{ID: "AKIAEXAMPLE000000001" + owner[:1]}
	case n < 6:
		return &access.CreateAccessKey{ID: "AKIAEXAMPLE000000001" + owner[:1], Secret: "an-example-and-no-secret", Account: owner,
			Tenant: true}
	case n < 7:
		return &queue.DeleteQueue{Queue: name}
	case n < 12:
		create := &queue.CreateQueue{Queue: name, Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}}
		if access.PlainName(name) == "a.fifo" {
			target := "arn:aws:sqs:us-east-1:" + c.one(owner, owner, "111111111111") + ":dead.fifo"
			create.Attributes = append(create.Attributes,
				queue.Attribute{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + target + `","maxReceiveCount":1}`})
		}
		return create
	case n < 19:
		return &queue.ReceiveMessages{Queue: name, VisibilityTimeout: queue.Some(c.random.Int64N(2)), MaxMessages: queue.Some(2)}
	case n < 23 && len(c.queues[name]) > 0:
		return &queue.DeleteMessages{Queue: name, Handles: []string{c.one(c.queues[name]...)}}
	case n < 24:
		return &queue.StartMoveTask{Source: access.Qualify(owner, "dead.fifo"), Destination: access.Qualify(c.one("", owner), "a.fifo")}
	case n < 25:
		return &queue.PurgeQueue{Queue: name}
	}
	send := &queue.SendMessages{Queue: name, SenderID: owner, Batch: true}
	for range 1 + c.random.IntN(3) {
		send.Entries = append(send.Entries, queue.SendEntry{
			Body: c.one("x", "yy", "zzz"), GroupID: c.one("g", "h"), GroupIDGiven: true,
			DeduplicationID: fmt.Sprint(c.random.IntN(40)), DeduplicationIDGiven: true,
		})
	}
	return send
}

// topicCommand changes a topic that delivers to queues of all accounts.
func (c *accountCommands) topicCommand(owner string) queue.Command {
	own := c.one("t.fifo", "t.fifo", "u.fifo")
	name, arn := access.Qualify(owner, own), "arn:aws:sns:us-east-1:"+owner+":"+own
	switch n := c.random.IntN(8); {
	case n < 2:
		return &queue.CreateTopic{Topic: name, TopicARN: arn, Attributes: []queue.Attribute{{Name: "FifoTopic", Value: "true"}}}
	case n < 4:
		to := c.one("", "111111111111", "222222222222")
		endpoint := to
		if to == "" {
			endpoint = "000000000000"
		}
		return &queue.Subscribe{
			Topic: name, Owner: owner, Endpoint: "arn:aws:sqs:us-east-1:" + endpoint + ":a.fifo", Queue: access.Qualify(to, "a.fifo"),
			Attributes: []queue.Attribute{{Name: "RedrivePolicy",
				Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:` + c.one(owner, owner, "222222222222") + `:dead.fifo"}`}},
		}
	case n < 5 && c.random.IntN(3) == 0:
		return &queue.DeleteTopic{Topic: name}
	}
	return &queue.Publish{Topic: name, SenderID: owner, Entries: []queue.PublishEntry{{
		Message: c.one("published", "p"), GroupID: "g", GroupIDGiven: true, DeduplicationID: fmt.Sprint("p", c.random.IntN(100)),
		DeduplicationIDGiven: true,
	}}}
}

// learn records handles and counts outcomes.
func (c *accountCommands) learn(cmd queue.Command, r codec.Response) {
	switch result := r.Result.(type) {
	case queue.MessagesReceived:
		name := cmd.QueueName()
		for _, m := range result.Messages {
			c.queues[name] = append(c.queues[name], m.Handle.String())
			c.count("dead-lettered in an account", m.DeadLetterSource != "")
		}
		c.queues[name] = c.queues[name][max(0, len(c.queues[name])-5):]
	case queue.MessagesSent:
		for _, e := range result.Entries {
			c.count("sent by an account", e.Err == nil)
			c.count("over its quota", e.Err != nil && e.Err.Code == refusal.OverLimit)
		}
	case queue.Published:
		c.count("published by an account", true)
	case queue.Subscribed:
		subscribe := cmd.(*queue.Subscribe)
		c.count("subscribed across accounts", access.OwnerOf(subscribe.Queue) != access.OwnerOf(subscribe.Topic))
	case queue.Done:
		if _, deleted := cmd.(*access.DeleteAccount); deleted {
			c.count("deleted as an account", true)
		}
	}
	if r.Err != nil {
		c.count("one queue too many", r.Err.Code == refusal.OverLimit)
		c.count("one topic too many", r.Err.Code == refusal.TopicLimitExceeded)
		c.count("published over its quota", r.Err.Code == refusal.Throttled)
		c.count("kept as an account", r.Err.Code == refusal.DeleteConflict)
	}
}

func (c *accountCommands) count(outcome string, happened bool) {
	if happened {
		c.seen[outcome]++
	}
}

// accountOutcomes must occur in every run.
var accountOutcomes = []string{
	"dead-lettered in an account", "sent by an account", "over its quota", "published by an account", "subscribed across accounts",
	"deleted as an account", "one queue too many", "one topic too many", "published over its quota", "kept as an account",
}
