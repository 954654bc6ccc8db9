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
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/fsm"
)

// incoming is a snapshot that the leader sends without bodies, and what this node makes of
// it: a snapshot that refers to bodies of its own. Those that its present state has are
// where they are; the leader is asked for the others, which go into segments. All of that
// is done before the library hears of the snapshot, which does nothing else while it reads
// one: meanwhile this node answers the leader, and stays a voter.
type incoming struct {
	group   *Group
	conn    net.Conn
	from    *wire.Compact
	request *raft.InstallSnapshotRequest
	begun   bool           // it has the turn
	handed  bool           // the library was given it
	intake  *bodies.Intake // nil: bodies are in memory
	file    *storage.Spool
}

// incomingConn is the end of a connection over which this node is sent a snapshot.
type incomingConn struct {
	*wire.Compact
	conn  net.Conn
	group *Group
}

func (t *transport) speakInstall(conn net.Conn) wire.Conn {
	return incomingConn{wire.NewCompact(conn), conn, t.Snapshots}
}

// intakes has the snapshots that are sent to this node put together one at a time. A later
// one ends the one before, whose leader has given up or has been replaced.
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

// fetch puts the snapshot together, and returns the request to install it.
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

// Read reads what was put together. With the end the file goes: the library has its own
// then, and bodies that were in the snapshot are written to segments from that.
func (i *incoming) Read(content []byte) (int, error) { return i.file.Read(content) }

// close lets go of what was fetched.
func (i *incoming) close() {
	if !i.begun {
		return
	}
	defer i.group.intakes.end()
	if i.intake != nil {
		if !i.handed {
			_ = i.intake.Sync() // what was written can go; if it fails, the node ends
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
	from   *wire.Compact
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

// references is what the leader sends that refers to bodies. At most one part of it is in
// memory.
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

// filler gives the bodies of one section after the other.
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

// needsWhole reports whether a snapshot could not be put together and may be installed all
// the same if the leader puts it together.
func needsWhole(err error) bool { return errors.Is(err, errTooMany) || errors.Is(err, wire.ErrDamaged) }

// Begin is told how bodies are hashed.
func (f *filler) Begin(digest func(text string) uint64) { f.digest = digest }

// Section asks the leader for what this node lacks of a section.
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

// Read is the next body of the section.
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
		return body, fmt.Errorf("%w: another body than that with the hash %016x came", wire.ErrDamaged, wanted.Digest())
	}
	if f.intake == nil {
		return fsm.NewBody(text), nil
	}
	return f.intake.Append(text, wanted.Digest()), nil
}
