//go:build !invariants

package pages

const (
	// pageNumbers is how many numbers a page has, one bit of a word for each.
	pageNumbers = 64
	// openMax is how many pages of a map are open. Values between their first and their
	// last change should find their page open.
	openMax = 64
)
