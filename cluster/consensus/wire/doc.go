// Package wire encodes the messages of the consensus library between two nodes.
//
// A message is a frame (package frame). Its fields are the members of the message in a fixed order,
// as variable-length numbers and as bytes with their length. Its data is that of the entries.
//
// Ask writes data above copyMax without copying it, with one system call if the connection supports
// that: package peernet does without TLS, and joins up to 64 KiB with TLS. AskNow copies all data,
// because the unwritten remainder of a message has to stay; its caller passes at most 64 KiB.
//
// Each entry gets its own memory when it is read, because the log releases entries one by one. A
// frame must be exactly the encoding of some message. Any other frame ends its connection.
package wire
