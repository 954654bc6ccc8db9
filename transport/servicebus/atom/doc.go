// Package atom serves the administration API of Azure Service Bus over HTTP, as the SDKs call it: queues,
// topics, subscriptions and rules are created, read, listed, changed and deleted as entries of Atom feeds.
//
// # Design
//
// The API shares the client port with SQS and SNS. [Recognizes] tells its requests apart: they have an
// api-version, and none of the marks of a request of AWS.
//
// An entity is a queue or a topic by the mapping of package entity, its properties are attributes by
// package description. A new queue has a dead-letter queue of its own, which is deleted with it.
// Permissions are those of the equivalent actions of SQS and SNS, and so are the actions in the access log,
// the audit and metrics.
//
// A request may take several commands. They are in an order in which a repeated request finishes what a
// failed one began.
//
// Service Bus answers a read of a queue or a topic that does not exist with an empty feed, one of a subscription
// or a rule, and any change, with 404. A missing target of forwarding is a 400. Texts of errors begin with the
// SubCode of Service Bus, by which SDKs tell errors apart: 40400 for that target, too.
package atom
