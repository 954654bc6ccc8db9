// Package sns is the API of Amazon SNS, version 2010-03-31, for topics and subscriptions, in the
// Query protocol. There is one file for each action, and tables of actions and errors. Package
// queue checks the rules; this package checks things that exist on the wire only, such as the
// ids of batch entries.
//
// # Design
//
// Errors without a recorded text have the code InvalidParameter and a text that begins with "Invalid
// parameter: " (decision 21 of the specification). A missing parameter has the text recorded for
// Unsubscribe, a missing member of a list entry that of ValidationError.
//
// The link that confirms a subscription changes the state and still works in a browser, because only
// the subscriber has the token in it.
//
// There are no applications, platform endpoints, SMS and e-mail.
package sns
