// Package wire encodes the messages of the consensus library on a connection between two nodes.
// Package consensus uses it on connections of package peernet, which add no framing of their
// own.
//
// Two encodings share one interface (Conn). Compact is ours: frames with checksums, numbers of
// variable length, and the data of entries behind them. MessagePack is the encoding of the
// library's own transport.
//
// # Design
//
// A frame is
//
//	kind(u8) zero(u8 x 3) fields(u32) data(u32) CRC-32C of fields and data(u32) CRC-32C of the 16 bytes before(u32)
//	fields
//	data
//
// with numbers little-endian. The head has a checksum of its own, so that nobody
// takes memory for a length that the network invented. Fields are the message but for
// the data of its entries. Ask writes that from where it lies if it is more than 8 KiB
// (copyMax), over a connection that takes several pieces with one call: package peernet
// has one without TLS, and joins up to 64 KiB with it. Less is copied behind the fields,
// and so is all that AskNow writes, whose caller keeps it to 64 KiB: what does not go at
// once has to stay until it does. Data is read to where it stays: into one piece of memory
// for each entry, since entries are forgotten one by one. What a decoder gets was checked against the sum before anything is made of it,
// and is checked again for sense: a frame that is not exactly what some message is
// encoded to ends its connection.
package wire
