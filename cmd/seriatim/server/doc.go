// Package server implements the two commands that run nodes: server runs one node in production,
// dev runs a node or a whole cluster on one machine.
//
// Only this package builds everything: it reads the configuration, opens the cluster node, puts
// the transports in front of it, and stops both in order on a signal.
//
// # Design
//
// Every setting is one field of Config with its names, default, description
// and first version as tags; flags, environment variables, the file's keys, the
// printed configuration and docs/reference/configuration.md are generated from the tags.
// A setting that nobody knows is an error, wherever it comes from: a typing
// error must not leave a default in force.
//
// The cluster that dev starts consists of real server processes rather than of
// nodes inside one process, so that killing one of them is the same event as on
// three machines. One node alone has nobody to survive and runs inside the
// process.
package server
