package amqp

import (
	"context"

	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
)

// purpose is a use of memory by a connection.
type purpose uint8

const (
	structure purpose = iota // sessions, links, input buffers
	incoming                 // messages that are incomplete or not settled by the handler
	outgoing                 // messages that are not written, or not settled by the client
	kept                     // Conn.Keep
	purposes
)

// Bounds of the memory of one connection, in bytes.
const (
	structureMax  = 16 << 20
	incomingMax   = 8 << 20
	outgoingMax   = 4 << 20
	keptMax       = 4 << 20
	unverifiedMax = 128 << 10 // of each purpose, until the handler calls Verified
)

// messageBytesMax bounds a message, so that several may be incomplete.
const messageBytesMax = 2 << 20

// Memory that counts for a thing beyond the bytes of the client in it.
const (
	sessionBytes  = 1 << 10
	linkBytes     = 1 << 10
	deliveryBytes = 256
	sentBytes     = 256
)

// memoryStep is the amount by which memory is taken from the budget, so that most messages need not
// ask.
const memoryStep = 32 << 10

// memory counts the bytes that a connection holds, and takes them from the budget beyond
// limits.FreeBytes.
type memory struct {
	ctx      context.Context
	budget   *budget.Bytes
	verified bool
	ended    bool
	held     [purposes]int64
	taken    int64
}

// limit returns the bound for a purpose.
func (m *memory) limit(p purpose) int64 {
	if !m.verified {
		return unverifiedMax
	}
	return [purposes]int64{structureMax, incomingMax, outgoingMax, keptMax}[p]
}

// grow counts n more bytes. It reports false, and counts nothing, beyond the bound or without room in
// the budget. Something larger than the bound has room alone.
func (m *memory) grow(p purpose, n int64) bool {
	if held := m.held[p]; held+n > m.limit(p) && (held > 0 || !m.verified) {
		return false
	}
	if !m.cover(n) {
		return false
	}
	m.held[p] += n
	return true
}

// cover takes from the budget so that n more bytes can be held. It reports false without room there.
func (m *memory) cover(n int64) bool {
	need := m.uncovered(n)
	if need <= 0 {
		return true
	}
	step := max(need, memoryStep)
	if m.budget.Acquire(m.ctx, step, 0) != nil {
		return false
	}
	m.taken += step
	return true
}

// uncovered returns the bytes to take from the budget before n more can be held.
func (m *memory) uncovered(n int64) int64 {
	return n + m.total() - limits.FreeBytes - m.taken
}

func (m *memory) total() (n int64) {
	for _, held := range m.held {
		n += held
	}
	return n
}

// shrink counts n bytes less.
func (m *memory) shrink(p purpose, n int64) {
	m.held[p] -= n
	keep := max(0, m.total()-limits.FreeBytes)
	if !m.ended {
		keep += 2 * memoryStep
	}
	if m.taken > keep {
		if !m.ended {
			keep -= memoryStep
		}
		m.budget.Release(m.taken - keep)
		m.taken = keep
	}
}

// Keep counts bytes that the handler keeps of messages it has settled, such as those of a transaction. It
// reports false, and counts nothing, without room. Give them back with Drop.
func (c *Conn) Keep(bytes int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.memory.grow(kept, bytes)
}

// Drop counts bytes less. The handler must drop all that it has kept, also after the end of the connection.
func (c *Conn) Drop(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory.shrink(kept, bytes)
}

// end gives everything back except what the handler still has.
func (m *memory) end() {
	m.ended = true
	m.held[structure], m.held[outgoing] = 0, 0
	m.shrink(incoming, 0)
}
