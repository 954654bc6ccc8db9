package consensus

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/fsm"
)

// A snapshot of a node with segments refers to bodies in them. The leader sends the references
// to another node, which asks for the bodies that its own state lacks, section by section
// (installLacking here, fill.go there). A node that was away for a while has most of them. The
// snapshot that it assembles refers to its own segments. A node that fails at this is sent the
// snapshot with all bodies in it.

// pinned is a snapshot of this node. Bodies that it refers to stay until it is closed.
type pinned struct {
	content io.ReadCloser
	size    int64 // with the bodies in it
	release func()
}

func (p *pinned) close() {
	_ = p.content.Close() // it was only read
	p.release()
}

// pin opens the snapshot again that the library is to send to another node.
func (g *Group) pin(content io.Reader) (_ *pinned, err error) {
	opened, ok := content.(io.ReadCloser)
	source, known := storage.Source{}, false
	if ok {
		source, known = storage.SnapshotSource(opened)
	}
	if !known {
		return nil, errors.New("the consensus library sends a snapshot that is not from the store")
	}
	name := filepath.Base(filepath.Dir(source.Path))
	p := &pinned{release: g.options.Bodies.PinSnapshot()}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
	if _, p.content, err = g.snapshots.Open(name); err != nil {
		return nil, err
	}
	p.size, err = fsm.InlineSnapshotSize(bufio.NewReaderSize(p.content, inlineBuffer))
	if closing := p.content.Close(); err == nil {
		err = closing
	}
	if err == nil {
		_, p.content, err = g.snapshots.Open(name)
	}
	return p, err
}

// whole returns a snapshot with its bodies.
func (g *Group) whole(p *pinned) *inlined {
	return newInlined(func(w io.Writer) error {
		return fsm.InlineSnapshot(w, bufio.NewReaderSize(p.content, inlineBuffer), g.options.Bodies)
	})
}

// inlineBuffer is the size of the buffers for snapshots.
const inlineBuffer = 256 << 10

// inlined is a snapshot that is assembled as it is read.
type inlined struct {
	read   *io.PipeReader
	writer *io.PipeWriter
	write  func(io.Writer) error
	begun  sync.Once
	done   chan struct{} // closed when nothing is assembled any more
}

// newInlined returns a reader of the output of write. The first Read calls write.
func newInlined(write func(io.Writer) error) *inlined {
	w := &inlined{write: write, done: make(chan struct{})}
	w.read, w.writer = io.Pipe()
	return w
}

// Read reads the next part.
func (w *inlined) Read(content []byte) (int, error) {
	w.begun.Do(func() { go w.run() }) // close awaits it
	return w.read.Read(content)
}

func (w *inlined) run() {
	defer close(w.done)
	buffered := bufio.NewWriterSize(w.writer, inlineBuffer)
	err := w.write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil { // not wrapped: an io.EOF would pass for the end of the snapshot
		err = fmt.Errorf("putting bodies into the snapshot: %v", err) //nolint:errorlint // see above
	}
	_ = w.writer.CloseWithError(err) // never fails
}

// close ends the reading.
func (w *inlined) close() {
	w.begun.Do(func() { close(w.done) })
	_ = w.read.CloseWithError(io.ErrClosedPipe) // never fails
	<-w.done
}

// installLacking sends a node the parts of a snapshot that it asks for.
func (t *transport) installLacking(id raft.ServerID, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, p *pinned) error {
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
		text, err := t.Snapshots.readBody(w)
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

// readBody reads a body that the newest snapshot refers to. It may be damaged, and its
// message have been deleted since, so that nothing heals it: the next snapshot is without.
func (g *Group) readBody(w wire.Wanted) (string, error) {
	text, err := g.options.Bodies.ReadAt(w.Segment, w.Offset, w.Size, w.Digest)
	if errors.Is(err, bodies.ErrGone) {
		g.log.DemandSnapshot()
	}
	return text, err
}
