package history

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"
)

// A file has a head, the block of the node, the block of all queues, and those of the queues in
// use, each after its name. A CRC-32C of all that ends it. Numbers are little-endian.

const (
	fileMagic = "SRTMHIS1"
	nameMax   = 1 << 10
)

// ErrDamaged: a file does not have what was written.
var ErrDamaged = errors.New("the history file is damaged")

// ErrOld: a file was written too long ago.
var ErrOld = errors.New("the history file is too old")

type fileHead struct {
	Magic                                  [len(fileMagic)]byte
	SavedMs, Last                          int64
	NodeColumns, QueueColumns, Slots, Many uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write writes the series. Samples wait for its end; reads do not.
func (h *History) Write(w io.Writer, now time.Time) error {
	h.saving.Lock()
	defer h.saving.Unlock()
	sum := crc32.New(castagnoli)
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 64<<10)
	h.mu.RLock()
	queues := make(map[string]*tracked, len(h.queues))
	for name, t := range h.queues { // order does not matter
		queues[name] = t
	}
	head := fileHead{
		SavedMs: now.UnixMilli(), Last: h.last, NodeColumns: nodeColumnCount, QueueColumns: uint32(len(queueColumns)), Slots: blockSlots,
		Many: uint32(len(queues)), //nolint:gosec // at most queuesMax
	}
	h.mu.RUnlock()
	copy(head.Magic[:], fileMagic)
	// Nothing changes the blocks while saving is held.
	problems := []error{
		binary.Write(out, binary.LittleEndian, head), binary.Write(out, binary.LittleEndian, h.node.values),
		binary.Write(out, binary.LittleEndian, h.totals.values),
	}
	for name, t := range queues { // order does not matter
		problems = append(problems, binary.Write(out, binary.LittleEndian, uint16(len(name))), //nolint:gosec // names are short
			binary.Write(out, binary.LittleEndian, []byte(name)), binary.Write(out, binary.LittleEndian, t.used),
			binary.Write(out, binary.LittleEndian, t.block.values))
	}
	problems = append(problems, out.Flush())
	return errors.Join(append(problems, binary.Write(w, binary.LittleEndian, sum.Sum32()))...)
}

// Read replaces the series by those of a file. It returns an error and changes nothing if the file
// is damaged, or was written more than an hour before now.
func (h *History) Read(r io.Reader, now time.Time) error {
	sum := crc32.New(castagnoli)
	from := bufio.NewReaderSize(r, 64<<10)
	in := io.TeeReader(from, sum)
	var head fileHead
	if err := binary.Read(in, binary.LittleEndian, &head); err != nil {
		return damaged(err)
	}
	if string(head.Magic[:]) != fileMagic || head.NodeColumns != nodeColumnCount || head.QueueColumns != uint32(len(queueColumns)) ||
		head.Slots != blockSlots || head.Many > queuesMax || head.Last < 0 {
		return ErrDamaged
	}
	if age := now.Sub(time.UnixMilli(head.SavedMs)); age > FineMax || age < -FineMax {
		return ErrOld
	}
	read := New()
	if err := errors.Join(binary.Read(in, binary.LittleEndian, read.node.values),
		binary.Read(in, binary.LittleEndian, read.totals.values)); err != nil {
		return damaged(err)
	}
	for range head.Many {
		var length uint16
		if err := binary.Read(in, binary.LittleEndian, &length); err != nil || length > nameMax {
			return damaged(err)
		}
		name, t := make([]byte, length), &tracked{block: newBlock(queueColumns[:])}
		if err := errors.Join(binary.Read(in, binary.LittleEndian, name), binary.Read(in, binary.LittleEndian, &t.used),
			binary.Read(in, binary.LittleEndian, t.block.values)); err != nil {
			return damaged(err)
		}
		read.queues[string(name)] = t
	}
	var wanted uint32
	if err := binary.Read(from, binary.LittleEndian, &wanted); err != nil || wanted != sum.Sum32() {
		return damaged(err)
	}
	if _, err := from.ReadByte(); !errors.Is(err, io.EOF) {
		return damaged(err)
	}
	h.saving.Lock()
	defer h.saving.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.node, h.totals, h.queues = head.Last, read.node, read.totals, read.queues
	return nil
}

func damaged(err error) error {
	if err == nil {
		return ErrDamaged
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
