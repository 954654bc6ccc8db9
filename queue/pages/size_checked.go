//go:build invariants

package pages

// Small, so that tests get packed pages.
const (
	pageNumbers = 4
	openMax     = 2
)
