// Package clustertest is what the tests of the packages below cluster share:
// damage done to files, a stand-in for the end of the process, and the like.
//
// It imports none of the packages it helps to test beside fault, so that each of
// them can use it in its own package. Nothing but tests imports it.
package clustertest
