// Package tools is the module of the programs that generate code, kept apart
// so that the product's own go.mod stays short. Each program is a package
// below this one. Nothing of the product imports it.
package tools
