// Package certificate owns the command cert, which makes an authority and certificates for
// nodes and clients.
//
// It is for development, tests and small installations: it keeps the key of the authority
// in a file, revokes nothing and renews nothing. It refuses to know the server, which reads
// PEM files wherever they come from. Main calls Command.
package certificate
