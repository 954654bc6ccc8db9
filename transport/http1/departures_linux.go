package http1

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/seriatimq/seriatim/transport/unverified"
)

// departures watches connections for input, which mostly means that the client has left. One
// goroutine polls all of them, where one for each would need a stack. Safe for concurrent use; the
// zero value is ready.
type departures struct {
	mu      sync.Mutex
	file    *os.File // nil before the first connection
	events  syscall.RawConn
	closed  bool
	last    uint32
	watches map[uint32]*peerWatch
}

// add starts a watch. It reports false if the system cannot do that. The caller holds the mu of
// the watch.
func (d *departures) add(w *peerWatch) bool {
	if w.socket == nil {
		if w.socket = unverified.SocketOf(w.conn.accepted); w.socket == nil {
			return false
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.open() != nil {
		return false
	}
	d.last++
	for d.watches[d.last] != nil {
		d.last++
	}
	w.id = d.last
	//nolint:gosec // any bits do
	event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | syscall.EPOLLONESHOT, Fd: int32(w.id)}
	if d.control(w.socket, syscall.EPOLL_CTL_ADD, &event) != nil {
		return false
	}
	d.watches[w.id] = w
	return true
}

// remove ends a watch. The caller holds the mu of the watch.
func (d *departures) remove(w *peerWatch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watches[w.id] == w {
		d.forget(w.id, w)
	}
}

// forget removes a watch. The caller holds mu.
func (d *departures) forget(id uint32, w *peerWatch) {
	delete(d.watches, id)
	_ = d.control(w.socket, syscall.EPOLL_CTL_DEL, nil) // a closed socket is already removed
}

// control changes the watch of a socket. The caller holds mu.
func (d *departures) control(socket syscall.RawConn, change int, event *syscall.EpollEvent) error {
	var ofSocket, changed error
	err := d.events.Control(func(list uintptr) {
		ofSocket = socket.Control(func(fd uintptr) {
			changed = syscall.EpollCtl(int(list), change, int(fd), event)
		})
	})
	return errors.Join(err, ofSocket, changed)
}

// open creates the epoll instance. The caller holds mu.
func (d *departures) open() error {
	if d.file != nil {
		return nil
	}
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	if err := syscall.SetNonblock(fd, true); err != nil { // so that the runtime polls it
		return errors.Join(err, syscall.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "departures")
	events, err := file.SyscallConn()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	d.file, d.events, d.watches = file, events, map[uint32]*peerWatch{}
	go d.run(events) // ends with close
	return nil
}

// run notifies the watches until close.
func (d *departures) run(list syscall.RawConn) {
	var events [64]syscall.EpollEvent
	for {
		n, err := awaitEvents(list, events[:])
		if err != nil {
			d.close()
			return
		}
		for _, event := range events[:n] {
			d.notify(uint32(event.Fd)) //nolint:gosec // the bits of add
		}
	}
}

// awaitEvents waits without a thread, because the runtime polls the epoll instance.
func awaitEvents(list syscall.RawConn, events []syscall.EpollEvent) (n int, err error) {
	var failed error
	err = list.Read(func(fd uintptr) bool {
		for {
			n, failed = syscall.EpollWait(int(fd), events, 0)
			if !errors.Is(failed, syscall.EINTR) {
				return n > 0 || failed != nil
			}
		}
	})
	return n, errors.Join(err, failed)
}

// notify makes a watch read.
func (d *departures) notify(id uint32) {
	d.mu.Lock()
	w := d.watches[id]
	if w != nil {
		d.forget(id, w)
	}
	d.mu.Unlock()
	if w != nil {
		go w.readable(id) // it may have to wait for the rest of a TLS record
	}
}

// close stops the polling. Each watch continues with a goroutine.
func (d *departures) close() {
	d.mu.Lock()
	watches := d.watches
	d.closed, d.watches = true, nil
	if d.file != nil {
		_ = d.file.Close() // the watches have ended in any case
	}
	d.mu.Unlock()
	for id, w := range watches { // in any order: they are independent
		go w.readable(id) // ends with its request
	}
}
