// Package security shows what a server with --auth refuses: every action of every API,
// asked for by somebody without a key, with a wrong signature, or without permission.
//
// It owns the requests that such callers make, and looks at real processes only. The
// actions come from the tables of the services, so that a new one is tested by itself.
//
// It refuses to know what the actions do: package conformance shows that.
package security
