// Package fsmpb is the Go form of command.proto, result.proto and
// snapshot.proto. It owns nothing and knows no rule; only packages below fsm use it.
// Everything beside this file is generated, see the directive in package fsm.
package fsmpb
