// Package description turns the properties of Azure Service Bus queues, topics and subscriptions into
// attributes of queues and topics, and back.
//
// # Design
//
// A [Queue] has every property that a queue can have, and a [Topic] those of a topic. A subscription has
// those of its queue. A [Schema] reads and writes them as text. A property that an entity cannot have is
// accepted with its default value, and refused otherwise: no property is ignored that changes how the
// entity behaves.
//
// A property that is not given has the default of Service Bus at creation, and stays as it is in a change.
package description
