// Package arn reads and writes Amazon Resource Names, which clients use to name
// queues, topics and subscriptions.
//
// It owns their form and refuses to know whether what they name exists. Package
// queue and the wire protocols call it.
package arn
