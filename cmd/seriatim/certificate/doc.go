// Package certificate implements the command cert, which makes an authority, certificates for
// nodes and clients, and tokens for the admin port.
//
// Use it for development, tests and small installations: the key of the authority is in a file or
// in a Kubernetes secret, and you cannot revoke certificates.
package certificate
