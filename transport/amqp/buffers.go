package amqp

import (
	"math/bits"
	"sync"
)

// buffer is memory that is used again. Its capacity is one of bufferSizes, or it is not kept.
type buffer struct{ bytes []byte }

// Each size is four times the one before, so a buffer that grows with the bytes that have arrived
// takes at most four times as much.
var bufferSizes = [...]int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}

var bufferPools [len(bufferSizes)]sync.Pool

// bufferSize returns the capacity of a buffer for n bytes.
func bufferSize(n int) int {
	for _, size := range bufferSizes {
		if n <= size {
			return size
		}
	}
	return 1 << bits.Len(uint(n-1)) //nolint:gosec // positive
}

// newBuffer returns an empty buffer for n bytes.
func newBuffer(n int) *buffer {
	size := bufferSize(n)
	for i := range bufferSizes {
		if bufferSizes[i] == size {
			if b, ok := bufferPools[i].Get().(*buffer); ok {
				return b
			}
		}
	}
	return &buffer{bytes: make([]byte, 0, size)}
}

// free keeps a buffer for another use. The caller must not use it again.
func (b *buffer) free() {
	if b == nil {
		return
	}
	for i, size := range bufferSizes {
		if size == cap(b.bytes) {
			b.bytes = b.bytes[:0]
			bufferPools[i].Put(b)
			return
		}
	}
}

// grown returns a buffer with the same content and room for n more bytes.
func (b *buffer) grown(n int) *buffer {
	if cap(b.bytes)-len(b.bytes) >= n {
		return b
	}
	larger := newBuffer(len(b.bytes) + n)
	larger.bytes = append(larger.bytes, b.bytes...)
	b.free()
	return larger
}
