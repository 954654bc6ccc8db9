// Package certificate owns the command cert, which makes an authority, certificates for
// nodes and clients, and tokens for the admin port.
//
// It is for development, tests and small installations: it keeps the key of the authority
// in a file, or in a secret of Kubernetes, and revokes nothing. It
// refuses to know the server, which reads PEM files wherever they come from. Main calls Command.
package certificate
