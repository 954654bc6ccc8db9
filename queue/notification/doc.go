// Package notification is what a topic delivers.
//
// # What it owns
//
// What all deliveries of one publish share, the JSON envelope in which a subscriber gets
// it without raw message delivery and the length of that, what is posted over HTTP, which text a publish with
// MessageStructure=json has for queues, and the checks of a publish that need
// neither its topic nor a queue, with the texts of their errors.
//
// # What it refuses to know
//
// Topics, subscriptions and queues; which check comes when; message attributes
// beyond their base type, and what raw delivery makes of them.
//
// # Who calls it
//
// Package queue, when a publish is checked, accepted and delivered.
//
// # Design
//
// Each replica renders envelopes itself, so their bytes depend on the notification
// and the delivery alone: package encoding/json is not used, since what it writes
// changes between versions of Go. One function both writes and measures, so that the
// two agree. An envelope is measured first and allocated once.
//
// Where SNS documents nothing, or not enough:
//
//   - There are no blanks in an envelope. SNS breaks lines between the members,
//     which a JSON reader does not see.
//   - Replayed is the last member of an envelope, and absent unless true.
//   - The text of a message structure must be an object; anything else is refused
//     as if it were not JSON, and so is one that nests deeper than Jackson reads.
//   - If a name occurs twice in a message structure, the last string counts, as
//     with Jackson. A value that is not a string is ignored, even that of default.
//   - A subject that is too long, has a line break or a character that no message
//     may have gets the error that is recorded for an empty one. Its characters
//     are counted as code points.
//
// FIFO topics do not sign. SignatureVersion, Signature and SigningCertURL, which
// standard topics write between Timestamp and UnsubscribeURL, do not exist yet.
package notification
