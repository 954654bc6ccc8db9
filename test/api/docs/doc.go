// Package docs holds the tests that keep README and docs true: generated tables
// equal the code, links lead somewhere, make targets exist, what comments quote
// of the specification is there, and the commands that readers are told to type
// work against a cluster.
//
// It refuses to know how any of that works; go test calls it.
package docs
