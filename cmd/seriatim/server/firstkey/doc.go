// Package firstkey is how the operator of a new cluster gets, or gives, its first access
// key: by a file, or on the terminal that the server was started on.
//
// It never logs a secret, and writes none to what may be a log: standard output that is no
// terminal goes to a journal or to the log of a container. Package server gives it to the
// node, whose leader asks for the key when it begins a cluster.
package firstkey
