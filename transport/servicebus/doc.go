// Package servicebus serves unmodified Azure Service Bus clients: the semantics of that service on the
// AMQP 1.0 engine of package amqp. A queue is the same one that SQS and the native API serve.
//
// # Nodes of a connection
//
//	q                      sends and receives; a filter makes the receiver one of a session
//	q/$DeadLetterQueue     receives from the dead-letter queue of q
//	q/$management          requests about q: locks, schedules, sessions, peeks
//	t                      sends to a topic
//	t/$management          schedules and cancels
//	t/Subscriptions/s      receives from a subscription, which has all nodes of a queue
//	$cbs                   tokens
//	(coordinator)          declares and discharges transactions
//
// Package entity maps paths to the names of queues and topics. An entity must exist before a link to it.
//
// # Messages
//
// A message is stored as it was sent, section by section. Its message-id is the deduplication id, its
// group-id the message group. A receiver gets the sections back with a new header and the annotations
// of the broker. A message of SQS has its text as a data section, and its attributes as application
// properties.
//
// # Outcomes
//
// A send is rejected only if it was not stored. If its outcome is unknown, the link is detached with an
// error after which clients send again: under the same message-id, so that detection finds a copy.
// An outcome of a receiver is answered when its effect is in the log, with the same outcome. A lost lock
// is answered as rejected.
//
// # Locks
//
// The delivery tag of a message is its lock token, so that management requests complete it at any node. A
// session lock belongs to a link: the end of the link releases it.
//
// # Transactions
//
// A transaction belongs to a connection. Its operations are answered at once and collected; the commit is
// one command, which the state machine applies as a whole or not at all. The transaction ends with the link
// that declared it. An operation that is refused makes the commit fail.
//
// # Order
//
// Messages of one session from one link are stored in the order of the link. Others are stored in
// commands that run in parallel, and are answered when their command is done.
package servicebus
