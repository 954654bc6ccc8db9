// Package server implements the two commands that run nodes: server runs one node in production,
// dev runs a node or a whole cluster on one machine.
//
// The package reads the configuration, opens the cluster node and the transports, and stops them
// in order on a signal.
//
// # Design
//
// Every setting is one field of Config. Its tags hold names, default, description and first
// version. Flags, environment variables, keys of the file, --print-config and
// docs/reference/configuration.md are generated from the tags. An unknown setting is an error in
// every source, so that a typing error cannot leave a default in force.
//
// The cluster of dev consists of real server processes. Killing one is therefore the same event
// as on three machines. A single node runs inside the process of dev.
package server
