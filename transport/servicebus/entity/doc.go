// Package entity maps the entities of Azure Service Bus to queues, one to one.
//
// # Mapping
//
// The path of an entity has letters, digits, and . - _ /. The queue has the same name with these
// changes, and .fifo behind it:
//
//	.     _2E
//	/     _2F
//	_     _5F, where one of these four escapes would be read otherwise
//	-dlq  _2Ddlq at the end, because NAME-dlq.fifo is the dead-letter queue of NAME
//
// So most names stay as they are, and each FIFO queue is reached as an entity, unless its name has an
// escape that the mapping does not produce.
//
// Service Bus compares paths without letter case, queues with it: [Find] prefers the exact name.
package entity
