// Package content reads the parts of a message: the body, the message attributes with their
// types and numbers, the trace header, and the ids that a client may send. It counts the size of
// a message, and holds the attributes with which a client asks for more than AWS has:
// seriatim.ScheduledEnqueueTime and seriatim.PartitionKey.
package content
