// Package refusaltest compares refusals in the tests of packages that refuse.
package refusaltest
