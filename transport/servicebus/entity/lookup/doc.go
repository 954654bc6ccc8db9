// Package lookup finds the entities of Azure Service Bus in the state: queues, topics, and subscriptions.
// Package entity maps their paths to names.
//
// An exact name is preferred, and a queue to a topic. Otherwise the letter case does not count: the
// search then reads the names of the account, or the subscriptions of the topic.
package lookup
