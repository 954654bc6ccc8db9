// Package transfer moves messages between queues and files: one message a line, as JSON.
//
// Exporter reads a queue by peeking, so nothing changes. Importer sends lines over a stream and
// keeps the order of each group. Both use constant memory and can continue an earlier run. The
// package knows no flags and prints nothing: the commands of package client do that.
package transfer
