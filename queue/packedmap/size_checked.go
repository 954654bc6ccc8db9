//go:build invariants

package packedmap

// Small, so that tests get packed pages.
const (
	pageNumbers = 4
	openMax     = 2
)
