package consensus

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet/frame"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/fsm"
)

// incoming is a snapshot that the leader sends without bodies. This node assembles one that refers
// to its own bodies: those of its current state stay in place, and it requests the others from the
// leader. It does so before it passes the snapshot to the library, which handles no other message
// while it reads a snapshot: so this node still answers the leader and can vote.
type incoming struct {
	group   *Group
	conn    net.Conn
	from    *wire.Conn
	request *raft.InstallSnapshotRequest
	begun   bool           // holds intakes
	passed  bool           // passed to the library
	intake  *bodies.Intake // nil: bodies are in memory
	file    *storage.Spool
}

// intakes allows one incoming snapshot at a time. A later one aborts the one before, whose leader
// stopped sending or was replaced.
type intakes struct {
	mu   sync.Mutex
	now  *incoming     // nil: none
	free chan struct{} // closed when now becomes nil
}

// begin aborts the current snapshot and waits for its end.
func (i *intakes) begin(next *incoming) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.now != nil {
		_ = i.now.conn.Close() // aborts it
		free := i.free
		i.mu.Unlock()
		<-free
		i.mu.Lock()
	}
	i.now, i.free = next, make(chan struct{})
}

func (i *intakes) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now = nil
	close(i.free)
}

// fetch assembles the snapshot and returns the request to install it.
func (i *incoming) fetch() (*raft.InstallSnapshotRequest, error) {
	g := i.group
	g.intakes.begin(i)
	i.begun = true
	if g.options.Bodies != nil {
		i.intake = g.options.Bodies.BeginIntake()
	}
	var err error
	if i.file, err = g.stores.snapshots.CreateIncoming(); err != nil {
		return nil, err
	}
	from := i.partReader()
	out := bufio.NewWriterSize(i.file, inlineBuffer)
	err = fsm.FillSnapshot(out, &references{parts: from}, &bodySource{parts: from, machine: g.options.Machine, intake: i.intake})
	if err == nil {
		err = out.Flush()
	}
	if err == nil && i.intake != nil {
		err = i.intake.Sync() // before the snapshot that refers to them is on disk
	}
	if err != nil {
		return nil, fmt.Errorf("assembling a snapshot: %w", err)
	}
	here := *i.request
	here.Size, err = i.file.Rewind()
	return &here, err
}

// Read reads the assembled snapshot.
func (i *incoming) Read(content []byte) (int, error) { return i.file.Read(content) }

// close releases the snapshot.
func (i *incoming) close() {
	if !i.begun {
		return
	}
	defer i.group.intakes.end()
	if i.intake != nil {
		if !i.passed {
			_ = i.intake.Sync() // the bodies are not needed; if it fails, the node ends
		}
		i.group.options.Machine.BetweenCommands(func() { i.intake.End(i.passed) })
	}
	if i.file != nil {
		if err := i.file.Remove(); err != nil {
			i.group.options.Logger.Warn("a temporary file of a snapshot could not be removed", "error", err)
		}
	}
}

// partReader returns a reader of parts, each within the timeout for an exchange.
func (i *incoming) partReader() partReader {
	return partReader{from: i.from, within: func() error {
		return i.conn.SetDeadline(environment.DeadlineAfter(i.group.options.Timing.RPC))
	}}
}

type partReader struct {
	from   *wire.Conn
	within func() error
}

func (r partReader) want(bodies []wire.Wanted) error {
	if err := r.within(); err != nil {
		return err
	}
	return r.from.Want(bodies)
}

func (r partReader) part() ([]byte, error) {
	if err := r.within(); err != nil {
		return nil, err
	}
	return r.from.Part()
}

// references reads the references to bodies from the leader, one part at a time.
type references struct {
	parts  partReader
	unread []byte
}

// Read requests the next part when necessary.
func (r *references) Read(content []byte) (int, error) {
	if len(r.unread) == 0 {
		err := r.parts.want(nil)
		if err == nil {
			r.unread, err = r.parts.part()
		}
		if err != nil {
			return 0, err
		}
		if len(r.unread) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(content, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

// bodySource returns the bodies of a snapshot, section by section.
type bodySource struct {
	parts   partReader
	machine *fsm.FSM
	intake  *bodies.Intake // nil: bodies are in memory
	digest  func(text string) uint64
	held    []fsm.Body // remaining bodies of the section, in order; zero: the leader sends it
	unread  []byte     // bodies from the leader
	lacking []wire.Wanted
}

var errTooMany = errors.New("a section of the snapshot has too many bodies")

// needsWhole reports whether the leader has to send the snapshot with its bodies, because this node
// cannot assemble it.
func needsWhole(err error) bool {
	return errors.Is(err, errTooMany) || errors.Is(err, frame.ErrDamaged)
}

// Begin sets the hash function for bodies.
func (f *bodySource) Begin(digest func(text string) uint64) { f.digest = digest }

// Section requests the bodies of a section that this node lacks.
func (f *bodySource) Section(wanted []fsm.WantedBody) error {
	f.held, f.lacking = f.held[:0], f.lacking[:0]
	for _, w := range wanted {
		body, held := f.machine.HeldBody(w)
		if !held {
			body = fsm.Body{}
			at := w.Body.Place()
			f.lacking = append(f.lacking, wire.Wanted{Segment: at.Segment, Offset: at.Offset, Size: uint32(w.Body.Len()),
				Digest: w.Body.Digest()})
		}
		f.held = append(f.held, body)
	}
	switch {
	case len(f.lacking) > wire.WantedMax:
		return errTooMany
	case len(f.lacking) > 0:
		return f.parts.want(f.lacking)
	}
	return nil
}

// Read returns the next body of the section.
func (f *bodySource) Read(wanted fsm.Body) (fsm.Body, error) {
	body := f.held[0]
	f.held = f.held[1:]
	if body.Len() > 0 { // no stored body is empty
		return body, nil
	}
	for len(f.unread) < wanted.Len() {
		part, err := f.parts.part()
		if err != nil {
			return body, err
		}
		if len(part) == 0 {
			return body, io.ErrUnexpectedEOF
		}
		f.unread = append(f.unread, part...)
	}
	text := string(f.unread[:wanted.Len()])
	f.unread = f.unread[wanted.Len():]
	// The restored state would not show a wrong body: it holds only the hash.
	if f.digest(text) != wanted.Digest() {
		return body, fmt.Errorf("%w: another body than that with the hash %016x was sent", frame.ErrDamaged, wanted.Digest())
	}
	if f.intake == nil {
		return fsm.NewBody(text), nil
	}
	return f.intake.Append(text, wanted.Digest()), nil
}
