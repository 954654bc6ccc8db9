// Package sqs is the API of Amazon SQS, version 2012-11-05: all 23 actions in both wire
// protocols. There is one file for each action, and tables of actions and errors. Package queue
// checks the rules; this package checks things that exist on the wire only, such as the ids of
// batch entries, and adds MD5 digests.
//
// # Design
//
// Order of checks (sqs.md 1.7): caller, action, required parameters, queue lookup, values. For values
// that no command carries, refuse looks the queue up.
package sqs
