// Package notification builds the messages that a topic delivers: the JSON envelope, the HTTP
// request, and the text selected by MessageStructure=json. It also makes the checks of a publish
// that need no topic.
//
// # Design
//
// Each replica builds envelopes itself, so their bytes depend only on the notification and the
// delivery. The output of encoding/json changes between versions of Go, so it is not used. One
// function writes and measures, so that the length always fits and an envelope needs one
// allocation.
//
// Decisions where SNS documents nothing, or not enough:
//
//   - An envelope contains no white space. SNS breaks lines between the members,
//     which a JSON reader ignores.
//   - Replayed is the last member of an envelope, and absent unless true.
//   - A message structure must be an object. Any other value, and one that nests
//     deeper than Jackson reads, gets the error for invalid JSON.
//   - Of repeated names in a message structure, the last string counts, as
//     with Jackson. A value that is not a string is ignored, even that of default.
//   - A subject that is too long, or has a line break or an invalid character,
//     gets the error that is recorded for an empty one. Its characters
//     are counted as code points.
//
// FIFO topics do not sign: Signature and SigningCertURL do not exist yet.
package notification
