// Package attributes holds the attributes and tags of queues, topics and subscriptions, with a
// table for each. A row has the name of an attribute, the resources that have it, whether it may
// change, and how its value is parsed and printed.
//
// The package also has the defaults, the presets (CompatibilityProfile), the rules between
// attributes, and the rules for tags. Package queue checks that the target of a RedrivePolicy
// exists, and applies a change to messages.
//
// # Two services
//
// SQS and SNS refuse the same mistake with different codes and texts. So rows of queues return
// whole errors, while rows of topics and subscriptions return a reason: the beginning of its text
// depends on the request. The texts are those of docs/internals/specification/sns.md. Values
// without a recorded text are refused in the form that SNS uses for RawMessageDelivery and
// FilterPolicyScope.
package attributes
