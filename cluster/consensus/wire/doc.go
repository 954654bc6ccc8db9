// Package wire writes and reads the messages of the consensus library on a connection
// between two nodes.
//
// A message is a frame (package frame). Its fields are the members of the message in a
// fixed order, as numbers of variable length and as bytes with their length. Its data is
// that of the entries.
//
// Ask writes data of more than 8 KiB (copyMax) from where it lies, with one call if the
// connection supports that: package peernet does without TLS, and joins up to 64 KiB with
// TLS. Ask copies smaller data behind the fields. AskNow copies all data, because the
// rest of a message that did not fit into the socket has to stay until it is written; its
// caller passes at most 64 KiB.
//
// Each entry gets memory of its own when it is read, because the log releases entries one
// by one. A frame must be exactly the encoding of some message. Any other frame ends its
// connection.
package wire
