// Command seriatim is the server and the command-line tool in one binary.
//
// It owns main and the command tree: which subcommands exist, how their errors
// become words and exit codes. It refuses to know what any of them does: that
// is in the packages server, client, certificate and offline.
package main
