// Package stranger holds connections as somebody on another machine would who may not use
// the cluster. Tests of what such people cost share it: test/cluster/strangers for the
// client and the admin port, test/cluster/membership for the ports between nodes.
//
// It knows no protocol: what is said over a connection is the business of the tests. What a
// stranger gets for an answer is no error.
package stranger
