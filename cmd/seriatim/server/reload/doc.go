// Package reload reads files, and reads them again when they have changed, so that
// certificates and tokens can be renewed without a restart.
//
// It owns when to look, and refuses to know what the files hold. Packages certificate and
// token use it.
//
// # Design
//
// Files are looked at when they are needed, at most once a second, and not by a watcher:
// that needs no work on idle, and it notices every way in which files are replaced, also
// the exchange of a symbolic link, with which Kubernetes updates secrets. Files that cannot
// be used leave the former contents in force, which is logged, and are read until they can.
package reload
