// Package tools is the module of the code generators, kept apart to keep the product's go.mod
// short.
package tools
