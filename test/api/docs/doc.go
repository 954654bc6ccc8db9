// Package docs tests README and docs: generated tables equal the code, links lead somewhere,
// make targets exist, quotations of the specification are in it, and the commands in the
// documents work against a cluster.
package docs
