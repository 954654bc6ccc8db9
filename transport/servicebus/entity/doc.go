// Package entity maps the entities of Azure Service Bus to queues and topics, one to one. Package lookup
// finds them in the state.
//
// # Mapping
//
// The path of an entity has letters, digits, and . - _ /. The queue has the same name with these
// changes, and .fifo behind it:
//
//	.             _2E
//	/             _2F
//	_             _5F, where one of these four escapes would be read otherwise
//	-dlq          _2Ddlq at the end, because NAME-dlq.fifo is the dead-letter queue of NAME
//	-transferdlq  _2Dtransferdlq at the end, because the other name is that of the transfer dead-letter queue
//
// So most names stay as they are, and each FIFO queue is reached as an entity, unless its name has an
// escape that the mapping does not produce.
//
// A topic has the name of a queue of its path. A subscription is a queue of its own, whose path is
// TOPIC/Subscriptions/NAME. It exists if that queue is subscribed to the topic.
//
// Service Bus compares paths without letter case, queues with it: [Find] prefers the exact name.
package entity
