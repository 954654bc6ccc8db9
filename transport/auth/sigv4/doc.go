// Package sigv4 verifies AWS signatures of version 4, in the Authorization header and in
// presigned URLs, and signs the requests of clients. It refuses a signature with the codes and
// texts of AWS.
//
// # Design
//
// Two signers that differ in a blank make different signatures, so the canonical form is
// made of what was sent: the path as it stands in the request line, escaped once more as
// all services but S3 want it, and header values with runs of blanks made one.
//
// Everything that decides what a request does must be signed: Host, the date, and every
// header that begins with X-Amz-. X-Amz-Target names the action of the JSON protocol;
// without that rule a request that somebody recorded could be sent again as another one.
// The body is always part of the signature, unless the request says, signed, that its
// payload is not.
//
// Deriving a signing key takes four rounds of HMAC and is the same for all requests of a
// key, a day, a region and a service: it is kept. What is left of a verification is the
// digest of the body and two short HMACs.
package sigv4
