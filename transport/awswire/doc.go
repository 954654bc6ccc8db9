// Package awswire reads and writes the two wire protocols of the older AWS services: AWS JSON
// 1.0 and AWS Query (form in, XML out). A [Schema] describes one structure once, and both
// protocols decode into and encode from the same Go struct through it. It bounds nesting,
// elements and form parameters, and checks UTF-8.
//
// # Design
//
// Sending and receiving messages is the hot path, and the bodies are most of the bytes. Package
// jsontext reads the text once and returns substrings of it, and small typed accessors store the
// members. encoding/json uses reflection for every member, cannot tell a string from a number in the
// error texts of AWS, and replaces malformed UTF-8 silently, which would change the body of a
// message. A fuzz test compares the reader with encoding/json.
package awswire
