// Package definitions describes a cluster in a document: queues, topics with their subscriptions,
// policies of users, accounts with quotas, and access keys without secrets.
//
// Collect reads the document of a cluster. Compare lists the differences between two documents, and
// Apply makes the changes that a plan consists of. Messages belong to package transfer.
//
// # ARNs
//
// A document has ARNs such as arn:aws:sqs:{region}:{account}:jobs-dead, so that it fits any cluster.
// Apply replaces the variables by region and account of the cluster that it changes.
package definitions
