// Package awswire reads and writes the two wire protocols of the older AWS services: AWS JSON
// 1.0 and AWS Query (form in, XML out). A [Schema] describes one structure once, and both
// protocols decode into and encode from the same Go struct through it. It bounds nesting,
// elements and form parameters, and checks UTF-8.
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
