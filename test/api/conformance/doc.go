// Package conformance runs the SQS and SNS APIs of a real three-node cluster
// against their specifications, through stock clients over TCP.
//
// It owns the Go part of the suite: one file for each of the actions, files
// for the subjects that span several actions, and the table that maps every
// numbered statement of the specification to the test that covers it
// (statements_test.go). Each test of queues runs once with the SDK speaking AWS
// JSON and once with the same SDK speaking AWS Query; SNS has Query only. Every single answer is also checked
// on the wire for what holds for all of them: request id, content type, error
// header, and the pairing of error type, code, status and fault. Requests go
// round over the nodes, so that forwarding to the leader is part of every
// test. The folders python, js and java hold the same walk through the API for
// other SDKs, python and typescript also programs with stubs of the native API; the
// script run starts a cluster and runs them.
//
// It refuses to know how the server is built: there is no import of the
// product here but the client of its native API.
package conformance
