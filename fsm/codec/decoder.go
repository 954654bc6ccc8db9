package codec

import (
	"fmt"
	"unsafe"

	"github.com/seriatimq/seriatim/queue"
)

// Decoder decodes the commands of one entry after another into memory that it uses
// again: what a replica throws away after applying an entry was a third of its
// garbage. The zero value is ready; not safe for concurrent use.
type Decoder struct {
	sends    slab[queue.SendMessages]
	entries  slab[queue.SendEntry]
	receives slab[queue.ReceiveMessages]
	deletes  slab[queue.DeleteMessages]
	handles  slab[string]
	names    [namesMax]string // read lately, by slot
	entry    entryText
}

// entryText is the entry that is being decoded, as text: the texts of all its commands
// are parts of it. The zero value is that of no entry.
type entryText struct {
	data []byte
	end  int // of the present frame
}

// namesMax bounds the names of queues, groups and senders that a Decoder remembers.
const namesMax = 512

// Reset ends the life of all commands decoded so far: nothing may use them, or slices in
// them, any more. Strings and message attributes last, but bodies, deduplication ids and
// receipt handles keep the memory of their whole entry: copy what is to stay.
func (d *Decoder) Reset() {
	d.sends.reset()
	d.entries.reset()
	d.receives.reset()
	d.deletes.reset()
	d.handles.reset()
}

// Decode is DecodeCommand for a command that lives until Reset, and no longer than
// frame. A nil Decoder decodes what lasts.
func (d *Decoder) Decode(frame []byte) (queue.Command, error) {
	c, body, err := parseFrame(frame)
	if err != nil {
		return nil, err
	}
	cmd, err := c.decode(d, body)
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", c.name, err)
	}
	return cmd, nil
}

// DecodeEntry is the function of that name for an entry whose commands live until Reset,
// and no longer than data, which nobody may write to any more: texts are parts of it. visit
// is called with each of them, in order.
func (d *Decoder) DecodeEntry(data []byte, visit func(queue.Command) error) (EntryHead, error) {
	d.entry = entryText{data: data}
	defer func() { d.entry = entryText{} }()
	return decodeEntry(data, func(frame []byte, end int) error {
		d.entry.end = end
		cmd, err := d.Decode(frame)
		if err != nil {
			return err
		}
		return visit(cmd)
	})
}

// textOf is body, the end of the present frame, as text; empty if d is nil, and each text
// in it has to be a copy of its own.
func (d *Decoder) textOf(body []byte) string {
	switch {
	case d == nil:
		return ""
	case d.entry.data == nil:
		return string(body)
	}
	entry := unsafe.String(unsafe.SliceData(d.entry.data), len(d.entry.data)) // nobody writes to it, see DecodeEntry
	return entry[d.entry.end-len(body) : d.entry.end]
}

// The methods below allocate if d is nil, as what they return has to last then.

func (d *Decoder) sendMessages() *queue.SendMessages {
	if d == nil {
		return &queue.SendMessages{}
	}
	return &d.sends.take(1)[0]
}

// sendEntries has room for n entries.
func (d *Decoder) sendEntries(n int) []queue.SendEntry {
	if d == nil {
		return make([]queue.SendEntry, 0, n)
	}
	return d.entries.take(n)[:0]
}

func (d *Decoder) receiveMessages() *queue.ReceiveMessages {
	if d == nil {
		return &queue.ReceiveMessages{}
	}
	return &d.receives.take(1)[0]
}

func (d *Decoder) deleteMessages() *queue.DeleteMessages {
	if d == nil {
		return &queue.DeleteMessages{}
	}
	return &d.deletes.take(1)[0]
}

// texts has room for n strings.
func (d *Decoder) texts(n int) []string {
	if d == nil {
		return make([]string, 0, n)
	}
	return d.handles.take(n)[:0]
}

// bytes is data, which is a part of the frame.
func (d *Decoder) bytes(data []byte) []byte {
	if d == nil || len(data) == 0 {
		return append([]byte(nil), data...)
	}
	return data
}

// name is the text of a name that other commands have, too: one string for all that
// come after each other, or nearly.
func (d *Decoder) name(text []byte) string {
	if d == nil || len(text) == 0 || len(text) > nameBytesMax {
		return string(text)
	}
	slot := uint32(len(text))
	for _, c := range text[max(0, len(text)-8):] {
		slot = slot*31 + uint32(c)
	}
	known := &d.names[slot%namesMax]
	if *known != string(text) {
		*known = string(text)
	}
	return *known
}

// nameBytesMax: no queue, group or sender has a longer name.
const nameBytesMax = 256

// slab hands out zero values that all end at once.
type slab[T any] struct {
	values []T
	used   int
}

// slabMin is what a slab has room for at first, slabMax what it keeps room for: an
// entry of the group committer has 1024 commands at most.
const (
	slabMin = 16
	slabMax = 4096
)

// take is n values without room behind them. Those handed out before stay where they
// are.
func (s *slab[T]) take(n int) []T {
	if len(s.values)-s.used < n {
		s.values, s.used = make([]T, max(n, slabMin, min(2*len(s.values), slabMax))), 0
	}
	s.used += n
	return s.values[s.used-n : s.used : s.used]
}

func (s *slab[T]) reset() {
	if len(s.values) > slabMax {
		s.values = nil
	}
	clear(s.values[:min(s.used, len(s.values))])
	s.used = 0
}
