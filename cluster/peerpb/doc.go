// Package peerpb is the Go form of peer.proto, the requests between nodes. It
// owns nothing and knows no rule; only package cluster uses it. Everything
// beside this file is generated, see the directive in package cluster.
package peerpb
