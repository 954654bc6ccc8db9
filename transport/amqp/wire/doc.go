// Package wire encodes and decodes AMQP 1.0: frames, performatives, SASL, delivery states, and the
// sections of messages.
//
// A decoded value stays in the bytes that it came in. [Value] holds one encoded value, and its
// methods read a part of it. So an unknown value can be stored or sent back byte for byte, with its
// exact type, and decoding a transfer allocates nothing. A Value refers to the input: copy it with
// [Value.Clone] before you reuse the input.
//
// # Limits
//
// [Scan] checks a value before anything reads it. It needs time in proportion to the input, whatever
// the input announces: sizes and counts must fit into the bytes that are there, values are nested at
// most depthMax times, and an array has at most emptyItemsMax items without bytes. A list of the
// items of an array takes memory in proportion to the bytes of the array.
package wire
