// Package exit owns the exit codes of the seriatim command and the error that
// carries one from a subcommand to main.
//
// It refuses to know any subcommand. It is used by main and by the packages
// server and client; the codes 80 and above, of a server that must not go on,
// belong to package cluster.
package exit
