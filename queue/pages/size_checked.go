//go:build invariants

package pages

// Small, so that the states that tests make have packed pages.
const (
	pageNumbers = 4
	openMax     = 2
)
