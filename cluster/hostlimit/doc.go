// Package hostlimit counts what strangers may keep open, in all and for each host, so that
// one of them leaves room for the others.
//
// It owns the counts, those of what was refused as well, which it logs seldom. It refuses to
// know what is counted. Packages peernet and discovery use it for connections of which they
// do not know yet whether they come from a node, package transport for those of its ports, and
// package http2 for what counts as one host.
package hostlimit
