package consensus

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
)

// wholeSnapshots returns, of a snapshot that the library sends to another node, one with
// all bodies in it: those of this node refer to its segment files. The other node puts
// the bodies into its own as it restores the state, whatever it keeps them in. Without
// segments there is nothing to do, and the function is nil.
func (g *Group) wholeSnapshots() func(content io.Reader) (*inlined, int64, error) {
	if g.options.Bodies == nil {
		return nil
	}
	return func(content io.Reader) (*inlined, int64, error) {
		opened, ok := content.(io.ReadCloser)
		source, known := storage.Source{}, false
		if ok {
			source, known = storage.SnapshotSource(opened)
		}
		if !known {
			return nil, 0, errors.New("the consensus library sends a snapshot that is not from the store")
		}
		return g.wholeSnapshot(filepath.Base(filepath.Dir(source.Path)))
	}
}

// wholeSnapshot is a snapshot of this node with its bodies, and its size. What it refers
// to stays until it is closed.
func (g *Group) wholeSnapshot(name string) (_ *inlined, size int64, err error) {
	release := g.options.Bodies.PinSnapshot()
	defer func() {
		if err != nil {
			release()
		}
	}()
	_, content, err := g.snapshots.Open(name)
	if err != nil {
		return nil, 0, err
	}
	size, err = fsm.InlineSnapshotSize(bufio.NewReaderSize(content, inlineBuffer))
	if closing := content.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, 0, err
	}
	if _, content, err = g.snapshots.Open(name); err != nil {
		return nil, 0, err
	}
	reader, writer := io.Pipe()
	w := &inlined{PipeReader: reader, done: make(chan struct{}), release: release}
	go func() { // close awaits it
		defer close(w.done)
		buffered := bufio.NewWriterSize(writer, inlineBuffer)
		err := fsm.InlineSnapshot(buffered, bufio.NewReaderSize(content, inlineBuffer), g.options.Bodies)
		if err == nil {
			err = buffered.Flush()
		}
		if closing := content.Close(); err == nil {
			err = closing
		}
		if err != nil { // not as it is: one that says that a file ended would pass for the end here
			err = fmt.Errorf("putting bodies into the snapshot: %v", err) //nolint:errorlint // see above
		}
		_ = writer.CloseWithError(err) // never fails
	}()
	return w, size, nil
}

// inlineBuffer is how much is handed on at once.
const inlineBuffer = 256 << 10

// inlined is a snapshot that is put together as it is read.
type inlined struct {
	*io.PipeReader
	done    chan struct{} // closed when nothing reads any more
	release func()
}

// close ends the reading and lets go of the bodies.
func (w *inlined) close() {
	_ = w.Close() // never fails
	<-w.done
	w.release()
}
