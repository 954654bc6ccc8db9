package bodies

import (
	"os"
	"slices"
	"sync"

	"github.com/seriatimq/seriatim/queue/message"
)

const (
	// windowsMax bounds the remembered read positions: about the number of backlogs drained at
	// once.
	windowsMax = 16
	// windowBytes are read at such a position at once.
	windowBytes = 64 << 10
)

// prefetcher reads the following bytes along with a body, if the body shortly follows another one
// that was read: a consumer that drains a backlog needs them next. Other bodies are read alone.
// Safe for concurrent use.
//
// A window may be older than the file, if a damaged body was rewritten. So its content is used only
// if it is undamaged, and is no sign of damage otherwise.
type prefetcher struct {
	bytes int // of a window; 0: disabled

	mu      sync.Mutex
	windows []*window // the most recently used last
	filled  int       // windows read
}

// window is a part of a segment with the position of a reader.
type window struct {
	segment uint32
	start   uint32 // of data in the segment
	data    []byte // empty after the first body of a reader
	next    uint32 // end of the last body read
}

// has reports whether a record lies in the window.
func (w *window) has(body message.Body) bool {
	at := body.Place()
	return at.Segment == w.segment && at.Offset >= w.start && int64(at.Offset-w.start)+recordBytes(body) <= int64(len(w.data))
}

// leadsTo reports whether a body lies shortly after the last one read.
func (w *window) leadsTo(body message.Body, bytes int) bool {
	at := body.Place()
	if at.Segment == w.segment+1 {
		return int(at.Offset) == headBytes
	}
	return at.Segment == w.segment && at.Offset >= w.next && int64(at.Offset-w.next) < int64(bytes)
}

// find returns the text of a body, if it was prefetched.
func (a *prefetcher) find(body message.Body, c cipher) (text string, found bool) {
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

// acquire removes and returns the window that leads to a body, or else one to reuse.
func (a *prefetcher) acquire(body message.Body) (w *window, leads bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, w := range a.windows {
		if w.leadsTo(body, a.bytes) {
			a.windows = slices.Delete(a.windows, i, i+1)
			a.filled++
			return w, true
		}
	}
	if len(a.windows) < windowsMax {
		return &window{}, false
	}
	w = a.windows[0]
	a.windows = slices.Delete(a.windows, 0, 1)
	return w, false
}

// release returns a window of acquire.
func (a *prefetcher) release(w *window) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.windows) < windowsMax {
		a.windows = append(a.windows, w)
	}
}

// readDisk reads the record of a body from its segment.
func (s *Store) readDisk(body message.Body) (record []byte, err error) {
	size := recordBytes(body)
	if size > int64(s.prefetch.bytes)/2 {
		return s.readFile(body)
	}
	w, leads := s.prefetch.acquire(body)
	if leads {
		record, err = s.readWindow(w, body)
	} else {
		w.data = w.data[:0]
		record, err = s.readFile(body)
	}
	w.segment, w.start, w.next = body.Place().Segment, body.Place().Offset, body.Place().Offset+uint32(size)
	s.prefetch.release(w)
	return record, err
}

// readWindow reads a window that begins with a body, and returns the record of the body.
func (s *Store) readWindow(w *window, body message.Body) (record []byte, err error) {
	file, err := os.Open(s.path(body.Place().Segment))
	if err != nil {
		w.data = w.data[:0]
		return nil, err
	}
	defer closeRead(file)
	w.data = slices.Grow(w.data[:0], s.prefetch.bytes)[:s.prefetch.bytes]
	if err := readAt(file, body.Place().Offset, w.data); err != nil {
		w.data = w.data[:0]
		return nil, err
	}
	return slices.Clone(w.data[:recordBytes(body)]), nil
}
