package http1

import "sync"

// Open is the set of a server's connections. Safe for concurrent use.
type Open[C comparable] struct {
	mu      sync.Mutex
	conns   map[C]struct{}
	closing bool
	ended   chan struct{} // closed after Close with the last connection
}

// NewOpen returns an empty set.
func NewOpen[C comparable]() *Open[C] {
	return &Open[C]{conns: make(map[C]struct{}), ended: make(chan struct{})}
}

// Add adds a connection. It reports false after Close.
func (o *Open[C]) Add(c C) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return false
	}
	o.conns[c] = struct{}{}
	return true
}

// Remove removes a connection that has ended or is served elsewhere.
func (o *Open[C]) Remove(c C) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.conns, c)
	if o.closing && len(o.conns) == 0 {
		close(o.ended)
	}
}

// List returns the connections.
func (o *Open[C]) List() []C {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]C, 0, len(o.conns))
	for c := range o.conns {
		list = append(list, c)
	}
	return list
}

// Close makes Add refuse connections.
func (o *Open[C]) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return
	}
	o.closing = true
	if len(o.conns) == 0 {
		close(o.ended)
	}
}

// Ended returns a channel that is closed when the last connection has been removed after Close.
func (o *Open[C]) Ended() <-chan struct{} { return o.ended }
