// Package description turns the properties of Azure Service Bus queues into attributes of queues, and
// back.
//
// # Design
//
// A [Queue] has every property that a queue can have. A property that a queue cannot have is accepted with
// its default value, and refused otherwise: no property is ignored that changes how the queue behaves.
//
// A property that is not given has the default of Service Bus at creation, and stays as it is in a change.
package description
