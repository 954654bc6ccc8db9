// Package token knows who may call the admin port of a running server: it reads the file
// of digests of tokens, again when it was replaced.
//
// It refuses to know what a role allows. Package server gives it to the admin port.
package token
