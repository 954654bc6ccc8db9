// Package certificate owns the certificates that a running server shows and trusts.
//
// It reads them from files and reads those again when they have changed, so that they can
// be renewed without a restart: who replaces the files does no more. It refuses to know
// ports and protocols. Package server calls it.
//
// # Design
//
// Files are looked at when a connection is made, at most once a second, and not by a
// watcher: that needs no work on idle, and it notices every way in which files are
// replaced, also the exchange of a symbolic link, with which Kubernetes updates secrets.
// Files that cannot be used leave the former ones in force, which is logged.
package certificate
