// Package explain says in words why a queue, a message group, a message, a deduplication id, a topic
// or a subscription is as it is, until when, what happens next, and which command changes it.
//
// It reads a [queue.View] and changes nothing. All interfaces show its explanations, so that they
// agree. The client that holds a message is not part of the state: package transport/grpc adds it.
package explain
