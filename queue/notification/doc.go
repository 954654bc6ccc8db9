// Package notification makes the messages that a topic delivers: the JSON envelope for
// subscribers without raw delivery, the request for a delivery over HTTP, and the text that
// MessageStructure=json selects. It also holds the checks of a publish that need no topic.
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
