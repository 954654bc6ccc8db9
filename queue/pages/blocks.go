package pages

// Blocks makes values several at a time, for those of which many come and go: an
// allocation for each costs more than what is done with it. The memory of a block is given
// back when none of its values is used any more, so values that are made one after the
// other should end about together. The zero value is ready.
type Blocks[T any] struct {
	free []T // of the present block
	made int // values in it
}

// blockValues is how many values a block has in the end. The first has one, the next ones
// twice as many as the last: what has few values takes no more memory than they need.
const blockValues = 16

// New is a value that was never used.
func (b *Blocks[T]) New() *T { return &b.Take(1)[0] }

// Take is n such values, side by side.
func (b *Blocks[T]) Take(n int) []T {
	if len(b.free) < n {
		if n >= blockValues {
			return make([]T, n)
		}
		b.made = max(n, min(2*b.made, blockValues))
		b.free = make([]T, b.made)
	}
	taken := b.free[:n:n]
	b.free = b.free[n:]
	return taken
}
