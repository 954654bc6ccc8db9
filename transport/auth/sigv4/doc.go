// Package sigv4 verifies AWS signatures of version 4.
//
// # What it owns
//
// Reading a signature from the Authorization header or from the query string of a
// presigned URL, the canonical form of a request, signing keys and their cache, the
// limits of its date, and the codes and texts with which AWS refuses one.
//
// # What it refuses to know
//
// Where keys are kept, what a caller may do, actions, the cluster.
//
// # Who calls it
//
// Package gate, once a request, through [auth.Verifier]; ops, for signed requests at the admin
// port; clients, to sign their requests.
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
