package packedmap

// Blocks allocates short-lived values in blocks, which is cheaper than one by one. A block is freed
// when none of its values is used, so allocate values of similar lifetime together. The zero value
// is ready.
type Blocks[T any] struct {
	free []T // of the current block
	made int // values in it
}

// blockValues is the final size of blocks. The first block has one value, and each next one twice
// as many, so that few values take little memory.
const blockValues = 16

// New returns a zero value.
func (b *Blocks[T]) New() *T { return &b.Take(1)[0] }

// Take returns n zero values in a slice.
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
