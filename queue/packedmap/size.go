//go:build !invariants

package packedmap

const (
	// pageNumbers is the number of slots per page, one bit of a word for each.
	pageNumbers = 64
	// openMax is the number of open pages per map. Most values should be changed while their page
	// is open.
	openMax = 64
)
