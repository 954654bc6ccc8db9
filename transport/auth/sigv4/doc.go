// Package sigv4 verifies AWS signatures of version 4, in the Authorization header and in
// presigned URLs, and signs the requests of clients. It refuses a signature with the codes and
// texts of AWS.
//
// # Design
//
// The canonical form uses the bytes that were sent: the path in the request line, escaped once more as for
// all services but S3, and header values with single blanks.
//
// The signature must cover Host, the date, and every header that begins with X-Amz-. X-Amz-Target names the
// action of the JSON protocol: unsigned, it could turn a recorded request into another one. The signature
// covers the body unless a signed header says that it does not.
//
// Deriving a signing key takes four rounds of HMAC. It is cached for each key, day, region and service, so
// that a verification costs the digest of the body and two short HMACs.
package sigv4
