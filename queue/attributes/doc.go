// Package attributes holds the attributes and tags of queues, topics and subscriptions, in one
// table each. A row has the name of an attribute, where it exists, whether it may change, and
// how its value is read and printed.
//
// The package also owns defaults and presets (CompatibilityProfile), the rules between
// attributes, and the rules of tags. Package queue checks that the target of a RedrivePolicy
// exists and applies a change to messages.
//
// # Two services
//
// SQS and SNS refuse the same fault with other codes and words, so the rows of queues
// make whole errors, while those of topics and subscriptions give a reason: how its
// text begins depends on the request. The texts are those of
// docs/internals/specification/sns.md. Where that has none, a value is refused in the
// form SNS has for RawMessageDelivery and FilterPolicyScope.
package attributes
