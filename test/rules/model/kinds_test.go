package model

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kind is a kind of queue that histories use.
type kind struct {
	name             string
	fifo             bool
	content          bool // ContentBasedDeduplication
	groupOptional    bool
	deduplicationOff bool
	partition        bool // sends carry partition keys
	reserved         bool // sends may be scheduled
	dead             bool // target of redrive policies
	small            bool // MaxSizeInMegabytes is small, and messages are large
	implicit         bool // ImplicitDeadLetterQueue
	target           string
	later            string // a target that it may get later, which may have this queue as its own target
	fixed            attributes
	forward          string // ForwardTo
	forwardDead      string // ForwardDeadLetteredMessagesTo
	idle             bool   // AutoDeleteOnIdleSeconds
}

func arn(name string) string { return arnOf("sqs", name) }

func arnOf(service, name string) string {
	return "arn:aws:" + service + ":us-east-1:000000000000:" + name
}

func redrive(target string, receives int) string {
	return `{"deadLetterTargetArn":"` + arn(target) + `","maxReceiveCount":` + strconv.Itoa(receives) + `}`
}

// allKinds lists dead-letter queues before the queues that refer to them.
func allKinds() []kind {
	return []kind{
		{name: "dead", dead: true, later: "redriven"},
		{name: "dead.fifo", fifo: true, dead: true, later: "redriven.fifo"},
		{name: "dead2.fifo", fifo: true, dead: true, target: "dead.fifo"},
		{name: "standard"},
		{name: "redriven", target: "dead"},
		{name: "plain.fifo", fifo: true},
		{name: "redriven.fifo", fifo: true, target: "dead.fifo"},
		{name: "chained.fifo", fifo: true, target: "dead2.fifo"},
		{name: "keeps.fifo", fifo: true, target: "dead.fifo", fixed: attributes{"DeadLetterKeepsDeduplicationId": "true"}},
		{name: "content.fifo", fifo: true, content: true, target: "dead.fifo"},
		{name: "both.fifo", fifo: true, content: true, target: "dead.fifo", fixed: attributes{"ContentDeduplicationMode": "IdAndContent"}},
		{name: "scoped.fifo", fifo: true, fixed: attributes{"DeduplicationScope": "messageGroup"}},
		{
			name: "partition.fifo", fifo: true, target: "dead.fifo", partition: true, reserved: true, groupOptional: true,
			fixed: attributes{"DeduplicationScope": "partitionKey", "ReservedAttributesEnabled": "true", "MessageGroupIdMode": "Optional"},
		},
		{name: "scheduled.fifo", fifo: true, reserved: true, fixed: attributes{"ReservedAttributesEnabled": "true"}},
		{name: "ymq.fifo", fifo: true, target: "dead.fifo", fixed: attributes{"CompatibilityProfile": "ymq"}},
		{name: "ymqmany.fifo", fifo: true, content: true, fixed: attributes{"ReceiveCompatibility": "ymq"}},
		{name: "bus.fifo", fifo: true, target: "dead.fifo", fixed: attributes{"CompatibilityProfile": "servicebus"}},
		{name: "capped.fifo", fifo: true, fixed: attributes{"MaxDeduplicationEntries": "4"}},
		{
			name: "cappedboth.fifo", fifo: true, content: true,
			fixed: attributes{"ContentDeduplicationMode": "IdAndContent", "MaxDeduplicationEntries": "3"},
		},
		{name: "off.fifo", fifo: true, deduplicationOff: true, fixed: attributes{"DeduplicationEnabled": "false"}},
		{name: "optional.fifo", fifo: true, groupOptional: true, target: "dead.fifo", fixed: attributes{"MessageGroupIdMode": "Optional"}},
		{name: "two.fifo", fifo: true, fixed: attributes{"MaxMessagesPerGroupPerReceive": "2"}},
		{
			name: "bothpartition.fifo", fifo: true, target: "dead.fifo", content: true, partition: true, reserved: true,
			groupOptional: true,
			fixed: attributes{
				"ContentDeduplicationMode": "IdAndContent", "DeduplicationScope": "partitionKey",
				"ReservedAttributesEnabled": "true", "MessageGroupIdMode": "Optional",
			},
		},
		{
			name: "optionalscoped.fifo", fifo: true, groupOptional: true,
			fixed: attributes{"MessageGroupIdMode": "Optional", "DeduplicationScope": "messageGroup"},
		},
		{name: "scheduled", reserved: true, target: "dead", fixed: attributes{"ReservedAttributesEnabled": "true"}},
		{name: "implicit.fifo", fifo: true, implicit: true, fixed: attributes{"ImplicitDeadLetterQueue": "true"}},
		{name: "implicit", implicit: true, fixed: attributes{"ImplicitDeadLetterQueue": "true"}},
		{
			name: "mortal.fifo", fifo: true, implicit: true, groupOptional: true,
			fixed: attributes{
				"ImplicitDeadLetterQueue": "true", "DeadLetterOnExpiration": "true", "MessageGroupIdMode": "Optional",
				"DefaultTimeToLiveSeconds": "20",
			},
		},
		{
			name: "mortalbus.fifo", fifo: true, implicit: true,
			fixed: attributes{"ImplicitDeadLetterQueue": "true", "DeadLetterOnExpiration": "true", "CompatibilityProfile": "servicebus"},
		},
		{name: "small.fifo", fifo: true, small: true, target: "dead.fifo", fixed: attributes{"MaxSizeInMegabytes": "1"}},
		{name: "small", small: true, fixed: attributes{"MaxSizeInMegabytes": "1"}},
		{
			name: "forward.fifo", fifo: true, groupOptional: true, forward: "middle.fifo",
			fixed: attributes{"MessageGroupIdMode": "Optional"},
		},
		{name: "forward", forward: "end"},
		{name: "forwarddead.fifo", fifo: true, implicit: true, forwardDead: "deadend.fifo", fixed: attributes{
			"ImplicitDeadLetterQueue": "true", "DeadLetterOnExpiration": "true", "DefaultTimeToLiveSeconds": "20",
		}},
		{name: "idle.fifo", fifo: true, implicit: true, reserved: true, idle: true, fixed: attributes{
			"ImplicitDeadLetterQueue": "true", "ReservedAttributesEnabled": "true", "AutoDeleteOnIdleSeconds": "300",
		}},
		{name: "idle", target: "dead", idle: true, fixed: attributes{"AutoDeleteOnIdleSeconds": "300"}},
		{name: "self.fifo", fifo: true, dead: true, target: "self.fifo"},
		{name: "keephistory.fifo", fifo: true, content: true, fixed: attributes{"PurgeClearsDeduplicationHistory": "false"}},
	}
}

// chooseKinds chooses a few kinds for each seed, so that each queue gets many commands. Both
// dead-letter queues are always among them.
func (g *generator) chooseKinds() []kind {
	all := allKinds()
	chosen := all[:3:3]
	rest := all[3:]
	for _, i := range g.rng.Perm(len(rest))[:5] {
		chosen = append(chosen, rest[i].targets()...)
		chosen = append(chosen, rest[i])
		if rest[i].forward+rest[i].forwardDead != "" {
			chosen = append(chosen, rest[i].transfer())
		}
		if rest[i].implicit {
			chosen = append(chosen, rest[i].builtIn())
		}
	}
	known := map[string]bool{}
	return slices.DeleteFunc(chosen, func(k kind) bool {
		twice := known[k.name]
		known[k.name] = true
		return twice
	})
}

// builtIn returns the dead-letter queue that comes with ImplicitDeadLetterQueue.
func (k kind) builtIn() kind {
	if k.fifo {
		return kind{name: strings.TrimSuffix(k.name, ".fifo") + "-dlq.fifo", fifo: true, dead: true}
	}
	return kind{name: k.name + "-dlq", dead: true}
}

// targets returns the queues to which a queue forwards. They take few ids, so that some messages cannot be
// forwarded.
func (k kind) targets() (list []kind) {
	end := kind{name: "end.fifo", fifo: true, fixed: attributes{"MaxDeduplicationEntries": "6"}}
	middle := kind{name: "middle.fifo", fifo: true, groupOptional: true, implicit: true, forward: "end.fifo", fixed: attributes{
		"MessageGroupIdMode": "Optional", "ImplicitDeadLetterQueue": "true",
	}}
	switch k.name {
	case "forward":
		return []kind{{name: "end"}}
	case "forward.fifo":
		return []kind{end, middle, middle.transfer(), middle.builtIn()}
	case "forwarddead.fifo": // a target of its own: the order of several sources is not specified
		return []kind{{name: "deadend.fifo", fifo: true, fixed: end.fixed}}
	}
	return nil
}

// transfer returns the queue for what cannot be forwarded.
func (k kind) transfer() kind {
	if k.fifo {
		return kind{name: strings.TrimSuffix(k.name, ".fifo") + "-transferdlq.fifo", fifo: true, dead: true}
	}
	return kind{name: k.name + "-transferdlq", dead: true}
}

// create returns the attributes of a new queue.
func (k kind) create(g *generator) attributes {
	a := attributes{"VisibilityTimeout": pickOf(g, "0", "1", "2", "5", "30")}
	if k.implicit {
		a["VisibilityTimeout"] = "0" // so that ten receives happen sooner
	}
	if k.fifo {
		a["FifoQueue"] = "true"
		a["DeduplicationWindowSeconds"] = pickOf(g, "1", "2", "5", "20", "300")
		a["ReceiveAttemptWindowSeconds"] = pickOf(g, "1", "5", "20", "300")
	}
	if k.content {
		a["ContentBasedDeduplication"] = "true"
	}
	if g.crowd == crowdLarge {
		a["MessageRetentionPeriod"] = "1209600"
	} else if g.oneIn(3) {
		a["MessageRetentionPeriod"] = pickOf(g, "60", "120")
	}
	if g.oneIn(3) {
		a["DelaySeconds"] = pickOf(g, "0", "1", "5")
	}
	if !k.small && g.oneIn(4) {
		a["MaximumMessageSize"] = "1024"
	}
	if k.forward != "" {
		a["ForwardTo"] = k.forward
	}
	if k.forwardDead != "" {
		a["ForwardDeadLetteredMessagesTo"] = k.forwardDead
	}
	if k.target != "" && k.target != k.name {
		a["RedrivePolicy"] = redrive(k.target, 1+g.rng.IntN(3))
	}
	maps.Copy(a, k.fixed)
	return a
}

// confirm returns the attributes of a CreateQueue for a queue that may exist.
func (k kind) confirm(g *generator) attributes {
	a := attributes{}
	if k.fifo {
		a["FifoQueue"] = "true"
	}
	if g.oneIn(2) {
		a["VisibilityTimeout"] = pickOf(g, "0", "1", "2")
	}
	if k.fifo && g.oneIn(2) {
		a["DeduplicationWindowSeconds"] = pickOf(g, "1", "5", "300")
	}
	if k.fifo && g.oneIn(3) {
		a["ContentBasedDeduplication"] = pickOf(g, "true", "false", "True")
	}
	return a
}

// change returns the attributes of a SetQueueAttributes: one or two changes, sometimes with one
// that is refused.
func (k kind) change(g *generator) attributes {
	a := attributes{}
	for range 1 + g.rng.IntN(2) {
		name, value := k.change1(g)
		a[name] = value
	}
	if !k.dead && g.oneIn(6) {
		a["DeliveryPaused"] = pickOf(g, "true", "false", "false")
	}
	if k.fifo && g.crowd != crowdLarge && g.oneIn(8) {
		a["DefaultTimeToLiveSeconds"] = pickOf(g, "0", "0", "2", "20", "922337203685")
	}
	if k.forward != "" && g.oneIn(3) {
		a["ForwardTo"] = pickOf(g, k.forward, k.forward, k.forward, "", k.name, pickOf(g, "nosuch", "nosuch.fifo"))
	}
	if k.name == "end.fifo" && g.oneIn(4) { // a ring
		a["ForwardTo"] = pickOf(g, "", "", "", "forward.fifo", "middle.fifo")
	}
	if k.idle && g.oneIn(3) {
		a["AutoDeleteOnIdleSeconds"] = pickOf(g, "0", "299", "300", "300", "301", "600")
	}
	if k.idle && k.fifo && g.oneIn(6) {
		a["ForwardTo"] = pickOf(g, "", "", "dead.fifo")
	}
	if k.forwardDead != "" && g.oneIn(4) {
		a["ForwardDeadLetteredMessagesTo"] = pickOf(g, k.forwardDead, k.forwardDead, "")
	}
	if g.oneIn(8) {
		a["EntityStatus"] = pickOf(g, "Active", "Active", "Active", "Disabled", "SendDisabled", "ReceiveDisabled")
	}
	if k.fifo && g.oneIn(12) {
		a["DeadLetterOnExpiration"] = pickOf(g, "true", "false")
	}
	if k.implicit && g.oneIn(4) {
		a["ImplicitDeadLetterQueue"] = pickOf(g, "true", "true", "false")
	}
	if k.implicit && g.oneIn(8) {
		a["RedrivePolicy"] = pickOf(g, "", redrive(pickOf(g, "dead", "dead.fifo"), 2))
	}
	if g.oneIn(12) {
		name, value := k.refused(g)
		a[name] = value
	}
	return a
}

func (k kind) change1(g *generator) (name, value string) {
	if !k.fifo || g.oneIn(3) {
		switch g.rng.IntN(7) {
		case 6:
			if k.dead {
				return "RedriveAllowPolicy", pickOf(g, `{"redrivePermission":"allowAll"}`, `{"redrivePermission":"denyAll"}`,
					`{"redrivePermission":"byQueue","sourceQueueArns":["`+arn("redriven.fifo")+`","`+arn("redriven")+`"]}`)
			}
		case 0:
			return "VisibilityTimeout", pickOf(g, "0", "1", "3", "30")
		case 1:
			if g.crowd == crowdLarge {
				return "VisibilityTimeout", "60"
			}
			return "MessageRetentionPeriod", pickOf(g, "60", "61", "345600")
		case 2:
			return "DelaySeconds", pickOf(g, "0", "0", "1", "4")
		case 3:
			return "MaximumMessageSize", pickOf(g, "1024", "262144")
		case 4:
			if k.target == "" && k.later != "" {
				return "RedrivePolicy", pickOf(g, "", redrive(k.later, 1), redrive(k.later, 2))
			}
			if k.target == "" {
				return "RedrivePolicy", ""
			}
			return "RedrivePolicy", pickOf(g, "", redrive(k.target, 1+g.rng.IntN(3)), redrive(k.target, 1))
		}
		return "VisibilityTimeout", "2"
	}
	switch g.rng.IntN(8) {
	case 0, 1:
		return "DeduplicationWindowSeconds", pickOf(g, "1", "2", "5", "20", "300", "604800")
	case 2:
		return "DeduplicationScope", pickOf(g, "queue", "messageGroup", "partitionKey")
	case 3:
		return "ReceiveAttemptWindowSeconds", pickOf(g, "1", "2", "20", "300")
	case 4:
		if _, capped := k.fixed["MaxDeduplicationEntries"]; capped {
			return "MaxDeduplicationEntries", pickOf(g, "0", "2", "4")
		}
		return "MaxMessagesPerGroupPerReceive", pickOf(g, "1", "2", "10")
	case 5:
		return "PurgeClearsDeduplicationHistory", pickOf(g, "true", "false")
	case 6:
		return "DeadLetterKeepsDeduplicationId", pickOf(g, "true", "false")
	}
	if k.content && k.fixed["ContentDeduplicationMode"] == "" {
		return "ContentDeduplicationMode", pickOf(g, "IdOverrides", "IdAndContent")
	}
	return "ReceiveAttemptWindowSeconds", "5"
}

// refused returns an attribute that SetQueueAttributes refuses.
func (k kind) refused(g *generator) (name, value string) {
	if k.fifo && g.oneIn(2) {
		switch g.rng.IntN(4) {
		case 0:
			if k.deduplicationOff {
				return "DeduplicationEnabled", "true"
			}
			return "DeduplicationEnabled", "false"
		case 1:
			return "DeduplicationWindowSeconds", pickOf(g, "0", "604801", "abc", "")
		case 2:
			return "MaxMessagesPerGroupPerReceive", pickOf(g, "0", "11")
		}
		return "DeduplicationScope", "Queue"
	}
	switch g.rng.IntN(4) {
	case 0:
		return "VisibilityTimeout", pickOf(g, "43201", "-1", "3.5", " 6", "")
	case 1:
		if k.fifo {
			return "RedrivePolicy", redrive("dead", 1)
		}
		return "RedrivePolicy", redrive("dead.fifo", 1)
	case 2:
		return "RedrivePolicy", redrive("nosuch", 1)
	}
	return "RedrivePolicy", redrive("dead", 1001)
}
