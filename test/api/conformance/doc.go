// Package conformance runs the SQS and SNS APIs of a real three-node cluster against their
// specifications, through stock clients over TCP.
//
// There is one file for each action, and files for subjects that span several actions. Each test
// of queues runs once over AWS JSON and once over AWS Query; SNS has Query only. Requests go
// round over the nodes, so each test includes forwarding to the leader.
//
// Every answer is checked on the wire for its request id, content type and error header, and for
// the error's type, code, status and fault.
//
// The folders python, js and java hold the same walk through the API for other SDKs. python and
// typescript also use stubs of the native API. The script run starts a cluster and runs them.
package conformance
