// Package readme holds the tests that keep README true: the table of settings
// equals the one generated from the code, the files and targets it names exist,
// and its snippets run against a cluster.
//
// It refuses to know how any of that works; go test calls it.
package readme
