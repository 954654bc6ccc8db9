package bodies

import (
	"os"
	"slices"
	"sync"

	"github.com/seriatimq/seriatim/queue/content"
)

const (
	// aheadWindows is how many places at which bodies are read one behind the other are
	// remembered: about as many queues with a backlog are drained at the same time.
	aheadWindows = 16
	// aheadBytes is how much is read at such a place at once.
	aheadBytes = 64 << 10
)

// readAhead reads what lies behind a body with it, once two bodies were read of which one
// lies shortly behind the other: whoever drains a backlog asks for the next one soon. What
// is wanted at random is read alone. Safe for concurrent use.
//
// A window may be older than the file: a damaged body may have been written anew since. So
// what it has is used if it is sound, and says nothing if it is not.
type readAhead struct {
	bytes int // of a window; zero: nothing is read ahead

	mu      sync.Mutex
	windows []*window // used last at the end
	filled  int       // how often one was read
}

// window is a part of a segment, and where a reader is.
type window struct {
	segment uint32
	start   uint32 // of data in the segment
	data    []byte // empty after the first body of a reader
	next    uint32 // behind the body that was read last
}

// has reports whether a record lies in the window.
func (w *window) has(body content.Body) bool {
	at := body.Place()
	return at.Segment == w.segment && at.Offset >= w.start && int64(at.Offset-w.start)+recordBytes(body) <= int64(len(w.data))
}

// leadsTo reports whether a body is shortly behind the one that was read last.
func (w *window) leadsTo(body content.Body, bytes int) bool {
	at := body.Place()
	if at.Segment == w.segment+1 {
		return int(at.Offset) == headBytes
	}
	return at.Segment == w.segment && at.Offset >= w.next && int64(at.Offset-w.next) < int64(bytes)
}

// find returns the text of a body if it was read already.
func (a *readAhead) find(body content.Body, c cipher) (text string, found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, w := range a.windows {
		if !w.has(body) {
			continue
		}
		begin := int64(body.Place().Offset - w.start)
		record := w.data[begin : begin+recordBytes(body)]
		text, err := c.textOf(record, body)
		if err != nil {
			return "", false
		}
		w.next = max(w.next, body.Place().Offset+uint32(len(record)))
		a.windows = append(slices.Delete(a.windows, i, i+1), w)
		return text, true
	}
	return "", false
}

// take takes out the window that leads to a body, or one whose memory can be used.
func (a *readAhead) take(body content.Body) (w *window, leads bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, w := range a.windows {
		if w.leadsTo(body, a.bytes) {
			a.windows = slices.Delete(a.windows, i, i+1)
			a.filled++
			return w, true
		}
	}
	if len(a.windows) < aheadWindows {
		return &window{}, false
	}
	w = a.windows[0]
	a.windows = slices.Delete(a.windows, 0, 1)
	return w, false
}

// put has a window used that take took out.
func (a *readAhead) put(w *window) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.windows) < aheadWindows {
		a.windows = append(a.windows, w)
	}
}

// readDisk reads the record of a body from its segment.
func (s *Store) readDisk(body content.Body) (record []byte, err error) {
	size := recordBytes(body)
	if size > int64(s.ahead.bytes)/2 {
		return s.readFile(body)
	}
	w, leads := s.ahead.take(body)
	if leads {
		record, err = s.fill(w, body)
	} else {
		w.data = w.data[:0]
		record, err = s.readFile(body)
	}
	w.segment, w.start, w.next = body.Place().Segment, body.Place().Offset, body.Place().Offset+uint32(size)
	s.ahead.put(w)
	return record, err
}

// fill reads a window that begins with a body.
func (s *Store) fill(w *window, body content.Body) (record []byte, err error) {
	file, err := os.Open(s.path(body.Place().Segment))
	if err != nil {
		w.data = w.data[:0]
		return nil, err
	}
	defer closeRead(file)
	w.data = slices.Grow(w.data[:0], s.ahead.bytes)[:s.ahead.bytes]
	if err := readAt(file, body.Place().Offset, w.data); err != nil {
		w.data = w.data[:0]
		return nil, err
	}
	return slices.Clone(w.data[:recordBytes(body)]), nil
}
