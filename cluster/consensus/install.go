package consensus

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/fsm"
)

// A snapshot of a node with segments refers to bodies in them. The leader sends these references,
// and the other node requests the bodies that its state lacks, section by section (installLacking
// here, incoming.go there). It assembles a snapshot that refers to its own segments. If that fails,
// the next snapshot includes all bodies.

// pinned is a snapshot of this node whose bodies remain until it is closed.
type pinned struct {
	content io.ReadCloser
	size    int64 // with its bodies
	release func()
}

func (p *pinned) close() {
	_ = p.content.Close() // it was only read
	p.release()
}

// pin reopens the snapshot that the library sends to another node.
func (g *Group) pin(content io.Reader) (_ *pinned, err error) {
	opened, ok := content.(io.ReadCloser)
	source, known := storage.Source{}, false
	if ok {
		source, known = storage.SnapshotSource(opened)
	}
	if !known {
		return nil, errors.New("the consensus library sends a snapshot that is not from the store")
	}
	p := &pinned{release: g.options.Bodies.PinSnapshot()}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
	if _, p.content, err = g.stores.snapshots.Open(source.ID()); err != nil {
		return nil, err
	}
	p.size, err = fsm.InlineSnapshotSize(bufio.NewReaderSize(p.content, inlineBuffer))
	if closing := p.content.Close(); err == nil {
		err = closing
	}
	if err == nil {
		_, p.content, err = g.stores.snapshots.Open(source.ID())
	}
	return p, err
}

// whole returns a snapshot with inlined bodies.
func (g *Group) whole(p *pinned) *inlined {
	return newInlined(func(w io.Writer) error {
		return fsm.InlineSnapshot(w, bufio.NewReaderSize(p.content, inlineBuffer), g.options.Bodies)
	})
}

// inlineBuffer is the size of the buffers for snapshots.
const inlineBuffer = 256 << 10

// inlined is a snapshot that is assembled while it is read.
type inlined struct {
	read   *io.PipeReader
	writer *io.PipeWriter
	write  func(io.Writer) error
	begun  sync.Once
	done   chan struct{} // closed when run ended
}

// newInlined returns a reader for the output of write. The first Read starts write.
func newInlined(write func(io.Writer) error) *inlined {
	w := &inlined{write: write, done: make(chan struct{})}
	w.read, w.writer = io.Pipe()
	return w
}

// Read reads the next part.
func (w *inlined) Read(content []byte) (int, error) {
	w.begun.Do(func() { go w.run() }) // close waits for it
	return w.read.Read(content)
}

func (w *inlined) run() {
	defer close(w.done)
	buffered := bufio.NewWriterSize(w.writer, inlineBuffer)
	err := w.write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil { // not wrapped: an io.EOF would mark the end of the snapshot
		err = fmt.Errorf("inlining bodies into the snapshot: %v", err) //nolint:errorlint // see above
	}
	_ = w.writer.CloseWithError(err) // never fails
}

// close stops the assembly.
func (w *inlined) close() {
	w.begun.Do(func() { close(w.done) })
	_ = w.read.CloseWithError(io.ErrClosedPipe) // never fails
	<-w.done
}

// installLacking sends a node the requested parts of a snapshot.
func (t *transport) installLacking(id raft.ServerID, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse,
	p *pinned) error {
	l, err := t.links.dial(id, peernet.KindInstall)
	if err != nil {
		return err
	}
	defer t.links.end(l)
	if err := l.conn.SetDeadline(environment.DeadlineAfter(t.installTimeout(args.Size))); err != nil {
		return err
	}
	if err := l.Ask(args); err != nil {
		return err
	}
	part := make([]byte, 0, wire.PartMax)
	for {
		wanted, answered, err := l.Wanted(resp)
		if err != nil || answered {
			return err
		}
		if len(wanted) > 0 {
			err = t.sendBodies(l.Conn, wanted, part)
		} else {
			err = t.sendReferences(l.Conn, p, part)
		}
		if err != nil {
			return err
		}
	}
}

func (t *transport) sendPart(to *wire.Conn, part []byte) error {
	t.snapshotBytes.Add(int64(len(part)))
	return to.SendPart(part)
}

func (t *transport) sendReferences(to *wire.Conn, p *pinned, part []byte) error {
	n, err := io.ReadFull(p.content, part[:wire.PartMax])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return t.sendPart(to, part[:n])
}

func (t *transport) sendBodies(to *wire.Conn, wanted []wire.Wanted, part []byte) error {
	for _, w := range wanted {
		text, err := t.options.Snapshots.readBody(w)
		if err != nil {
			return err
		}
		for text != "" {
			n := min(len(text), wire.PartMax-len(part))
			part, text = append(part, text[:n]...), text[n:]
			if len(part) == wire.PartMax {
				if err := t.sendPart(to, part); err != nil {
					return err
				}
				part = part[:0]
			}
		}
	}
	if len(part) == 0 {
		return nil
	}
	return t.sendPart(to, part)
}

// readBody reads a body of the newest snapshot. It may be gone if it was damaged and its message
// deleted; the next snapshot is without it.
func (g *Group) readBody(w wire.Wanted) (string, error) {
	text, err := g.options.Bodies.ReadAt(w.Segment, w.Offset, w.Size, w.Digest)
	if errors.Is(err, bodies.ErrGone) {
		g.stores.log.DemandSnapshot()
	}
	return text, err
}
