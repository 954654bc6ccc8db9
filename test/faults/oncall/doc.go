// Package oncall prepares the faults that wake an operator, on real nodes, and checks that the
// console alone and the command line alone explain each of them.
package oncall
