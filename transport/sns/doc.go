// Package sns is the API of Amazon SNS, version 2010-03-31, as far as it is about topics
// and subscriptions. SNS has the Query protocol only.
//
// # What it owns
//
// The input and output of each action, one file per action; the table of actions with the
// resource and the permission of each; the table from domain errors to wire errors; checks
// of what only exists on the wire, such as the ids of batch entries, the protocol of a
// subscription and the ARN of a topic; the tokens of its lists.
//
// # What it refuses to know
//
// The rules of topics, of deduplication and of filters, which package queue checks for
// every way in; the log, other nodes: a Node takes commands wherever the leader is.
//
// # Who calls it
//
// cmd/seriatim/server hands the [aws.API] of this package to package aws, beside that of
// SQS, which decodes requests, calls the actions and writes the answers.
//
// # Design
//
// Where SNS has no recorded text for a fault, the code is InvalidParameter and the text
// begins with "Invalid parameter: " (decision 21 of the specification). A required
// parameter that is missing is refused in the words recorded for Unsubscribe, a missing
// member of a list entry in those of ValidationError.
//
// A link to confirm a subscription changes the state and works in a browser all the same:
// the token in it is known to nobody but the subscriber.
//
// Applications, platform endpoints, SMS and e-mail are no topics; their actions do not
// exist here.
package sns
