// Package httpwire is the HTTP/1.1 of the load generator: one connection with one request at
// a time, written for little processor time.
//
// # What it owns
//
// HTTP/1.1 as far as a client of SQS needs it that makes one request at a time, the
// signature of a request, and finding values in answers without parsing them.
//
// # What it refuses to know
//
// TLS, redirects, pipelining, and what the load is.
//
// # Who calls it
//
// The load generator in package client. Its other commands use net/http.
package httpwire
