// Package rendition renders a stored message for the clients of another protocol. SQS and SNS see an
// AMQP message as text with message attributes. Service Bus clients see a text as a data section with
// application properties. The page docs/reference/message-formats.md has the table.
//
// # Design
//
// The state keeps each message as it was sent, and every rendition is computed when it is read. The
// envelopes and filters of topics need renditions, too, so all replicas must compute the same:
// renditions depend only on the message. They never fail. Bytes that cannot be read as AMQP, which a
// front end refuses before the log, stay bytes.
//
// A message attribute keeps the AMQP type of a property in the suffix of its data type: an int is a
// Number.int. So properties survive the way through SQS and back.
//
// An AMQP message without changed properties is returned byte for byte. Otherwise only the section of
// the changed properties is written anew, and the encoding of other properties stays.
package rendition
