// Package sns is the API of Amazon SNS, version 2010-03-31, for topics and subscriptions, in the
// Query protocol. There is one file for each action, and tables of actions and errors. Package
// queue checks the rules; this package checks things that exist on the wire only, such as the
// ids of batch entries.
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
