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

// incoming is a snapshot that the leader sends without bodies. This node assembles one that
// refers to bodies of its own: bodies that its present state has stay where they are, and it
// asks the leader for the others, which go into segments. It does that before it passes the
// snapshot to the library, which does nothing else while it reads one: meanwhile this node
// answers the leader and can vote.
type incoming struct {
	group   *Group
	conn    net.Conn
	from    *wire.Conn
	request *raft.InstallSnapshotRequest
	begun   bool           // it has the turn
	handed  bool           // the library has it
	intake  *bodies.Intake // nil: bodies are in memory
	file    *storage.Spool
}

// intakes assembles the snapshots that are sent to this node one at a time. A later one ends
// the one before, whose leader has stopped sending or has been replaced.
type intakes struct {
	mu   sync.Mutex
	now  *incoming     // nil: none
	free chan struct{} // closed when there is none any more
}

// begin waits for the turn of a snapshot.
func (i *intakes) begin(next *incoming) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.now != nil {
		_ = i.now.conn.Close() // it fails
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
	if i.file, err = g.snapshots.CreateIncoming(); err != nil {
		return nil, err
	}
	from := i.partReader()
	out := bufio.NewWriterSize(i.file, inlineBuffer)
	err = fsm.FillSnapshot(out, &references{partReader: from}, &filler{partReader: from, machine: g.options.Machine, intake: i.intake})
	if err == nil {
		err = out.Flush()
	}
	if err == nil && i.intake != nil {
		err = i.intake.Sync() // before the snapshot is on disk, which refers to them
	}
	if err != nil {
		return nil, fmt.Errorf("putting a snapshot together: %w", err)
	}
	here := *i.request
	here.Size, err = i.file.Rewind()
	return &here, err
}

// Read reads the assembled snapshot.
func (i *incoming) Read(content []byte) (int, error) { return i.file.Read(content) }

// close releases the fetched snapshot.
func (i *incoming) close() {
	if !i.begun {
		return
	}
	defer i.group.intakes.end()
	if i.intake != nil {
		if !i.handed {
			_ = i.intake.Sync() // the bodies are not needed; if it fails, the node ends
		}
		i.group.options.Machine.BetweenCommands(func() { i.intake.End(i.handed) })
	}
	if i.file != nil {
		if err := i.file.Remove(); err != nil {
			i.group.options.Logger.Warn("a file of no use could not be removed", "error", err)
		}
	}
}

// partReader asks for parts and reads them, each within the time of an exchange.
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

// references reads the references to bodies that the leader sends. At most one part of them is
// in memory.
type references struct {
	partReader
	rest []byte
}

// Read asks for the next part when one is read.
func (r *references) Read(content []byte) (int, error) {
	if len(r.rest) == 0 {
		err := r.want(nil)
		if err == nil {
			r.rest, err = r.part()
		}
		if err != nil {
			return 0, err
		}
		if len(r.rest) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(content, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// filler returns the bodies of one section after the other.
type filler struct {
	partReader
	machine *fsm.FSM
	intake  *bodies.Intake // nil: bodies are in memory
	digest  func(text string) uint64
	held    []fsm.Body // those of the section that are to be given, in order; zero: the leader sends it
	rest    []byte     // what the leader has sent of bodies
	lacking []wire.Wanted
}

var errTooMany = errors.New("a section of the snapshot has too many bodies")

// needsWhole reports whether a snapshot that this node cannot assemble may be installed if the
// leader assembles it.
func needsWhole(err error) bool {
	return errors.Is(err, errTooMany) || errors.Is(err, frame.ErrDamaged)
}

// Begin sets the hash function for bodies.
func (f *filler) Begin(digest func(text string) uint64) { f.digest = digest }

// Section asks the leader for the bodies of a section that this node lacks.
func (f *filler) Section(wanted []fsm.WantedBody) error {
	f.held, f.lacking = f.held[:0], f.lacking[:0]
	for _, w := range wanted {
		body, held := f.machine.HeldBody(w)
		if !held {
			body = fsm.Body{}
			at := w.Body.Place()
			f.lacking = append(f.lacking, wire.Wanted{Segment: at.Segment, Offset: at.Offset, Size: uint32(w.Body.Len()), Digest: w.Body.Digest()})
		}
		f.held = append(f.held, body)
	}
	switch {
	case len(f.lacking) > wire.WantedMax:
		return errTooMany
	case len(f.lacking) > 0:
		return f.want(f.lacking)
	}
	return nil
}

// Read returns the next body of the section.
func (f *filler) Read(wanted fsm.Body) (fsm.Body, error) {
	body := f.held[0]
	f.held = f.held[1:]
	if body.Len() > 0 { // no stored body is empty
		return body, nil
	}
	for len(f.rest) < wanted.Len() {
		part, err := f.part()
		if err != nil {
			return body, err
		}
		if len(part) == 0 {
			return body, io.ErrUnexpectedEOF
		}
		f.rest = append(f.rest, part...)
	}
	text := string(f.rest[:wanted.Len()])
	f.rest = f.rest[wanted.Len():]
	// The restored state will not show it: of a stored body it has the hash alone.
	if f.digest(text) != wanted.Digest() {
		return body, fmt.Errorf("%w: another body than that with the hash %016x came", frame.ErrDamaged, wanted.Digest())
	}
	if f.intake == nil {
		return fsm.NewBody(text), nil
	}
	return f.intake.Append(text, wanted.Digest()), nil
}
