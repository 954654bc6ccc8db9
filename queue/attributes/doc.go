// Package attributes is what can be set on a queue, on a topic and on a
// subscription: attributes and tags.
//
// # What it owns
//
// A table for each of the three, with one row per attribute: its name, where it
// exists, whether it may change, how its value is read and printed. On top of
// the tables the defaults, creation, changes and comparison, the rules between
// attributes, the name of a topic as far as it depends on them, and the rules of
// tags. Queues have the presets of a CompatibilityProfile besides.
//
// # What it refuses to know
//
// Queues, topics and subscriptions: whether the target of a RedrivePolicy exists, what
// a change of an attribute means for messages, which counters, ARNs and defaults that
// name a topic are listed beside attributes.
//
// # Who calls it
//
// Packages queue and topic, when commands are checked and applied; fsm/snapshot, which stores the
// values; the protocols, to know a name.
//
// # Two services
//
// SQS and SNS refuse the same fault with other codes and words, so the rows of queues
// make whole errors, while those of topics and subscriptions give a reason: how its
// text begins depends on the request. The texts are those of
// docs/internals/specification/sns.md. Where that has none, a value is refused in the
// form SNS has for RawMessageDelivery and FilterPolicyScope.
package attributes
