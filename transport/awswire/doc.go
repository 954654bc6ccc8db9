// Package awswire reads and writes the two wire protocols of the older AWS
// services: AWS JSON 1.0 and AWS Query (form in, XML out).
//
// # What it owns
//
// The shape of requests, answers and errors: a [Schema] describes one
// structure once, and both protocols decode into and encode from the same Go
// struct through it. Limits against hostile input: nesting, number of elements
// and of form parameters, UTF-8.
//
// # What it refuses to know
//
// Any action, any rule of a queue, and who may call. It never sees an
// http.ResponseWriter except to write a finished answer.
//
// # Who calls it
//
// Package transport/aws, once per request; packages sqs and sns describe their
// structures with it.
//
// # Design
//
// Sending and receiving messages is the hot path, and the bodies are most of
// the bytes. So the JSON reader is written by hand: it walks the text once and
// hands out substrings of it, and members are stored through small typed
// accessors. encoding/json was rejected here because it goes through reflection
// for every member, cannot tell a string from a number in the error text AWS
// uses, and replaces malformed UTF-8 silently, which would change a message
// body behind the sender's back. The reader is fuzzed against encoding/json.
package awswire
