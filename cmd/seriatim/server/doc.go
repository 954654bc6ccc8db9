// Package server owns the two commands that run nodes: server, which is one
// node in production, and dev, which is a node or a whole cluster on one machine.
//
// It is the only package that builds everything: it reads the configuration,
// opens the cluster node, puts the transports in front of it, and stops both
// in order on a signal. It refuses to know what a request means. Main calls
// Commands.
//
// # Design
//
// Every setting is one field of Config with its names, default, description
// and first version as tags; flags, environment variables, the file's keys, the
// printed configuration and docs/manual/configuration.md are generated from the tags.
// A setting that nobody knows is an error, wherever it comes from: a typing
// error must not leave a default in force.
//
// The cluster that dev starts consists of real server processes rather than of
// nodes inside one process, so that killing one of them is the same event as on
// three machines. One node alone has nobody to survive and runs inside the
// process.
package server
