// Package migrate reads queues and messages of another service that speaks the SQS protocol: Amazon
// SQS, ElasticMQ, Yandex Message Queue, or another cluster.
//
// Source lists queues as definitions, which package definitions applies. Move receives the messages
// of a queue, sends them, and deletes each from the source after its send was acknowledged.
//
// Queues, topics and subscriptions of Azure Service Bus become definitions, too. Their messages are not
// read.
package migrate
