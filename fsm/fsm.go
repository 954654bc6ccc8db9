package fsm

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// Errors that end the process as a command could not be applied.
var (
	// ErrBrokenInvariant says that applying a command found the state inconsistent.
	ErrBrokenInvariant = errors.New("broken invariant")
	// ErrUnreadableBody says that a command goes by a text which this node cannot read.
	ErrUnreadableBody = errors.New("a command cannot be applied")
)

// Options connect an FSM to the node around it. Any member may be left out.
type Options struct {
	// StateLock is held while the state changes, its read side by Read and Inspect.
	// Without one the state belongs to one goroutine.
	StateLock RWLocker
	// Applied is called after each batch with the index reached, the log
	// time and what happened, on the library's state machine goroutine and
	// without StateLock. The events belong to the callee.
	Applied func(index uint64, at queue.Timestamp, events []queue.Event)
	// Tap sees every applied entry with its answers, in order, without
	// StateLock. It must not keep data.
	Tap func(index, term uint64, data []byte, result EntryResult)
	// Audited sees every applied Audit with where the state stands after its
	// entry, in order, without StateLock. It must not block, nor keep the Audit.
	Audited func(at snapshot.Position, audit *queue.Audit)
	// Origin is that of the requests Answered is called for.
	Origin uint64
	// Answered is called with the answer to each command of a request of Origin, in
	// order and before Applied, without StateLock. It must not block.
	Answered func(number uint64, response codec.Response, index uint64, at queue.Timestamp)
	// Restored is called when a snapshot has taken the place of the state, before
	// Applied: commands that this FSM did not see may be part of it.
	Restored func()
	// VersionMax is the highest format version of this node; 0 means
	// format.CurrentVersion. Tests of mixed clusters set another.
	VersionMax uint32
	// Bodies has the bodies of messages; nil: they are in memory.
	Bodies BodyStore
	// Fatal ends the process, as this replica could answer wrongly from here on. The
	// error is one of those above or one of package format's. It must not return;
	// StateLock may be held.
	Fatal func(error)
}

// RWLocker is a lock with a read side, such as a *sync.RWMutex.
type RWLocker interface {
	sync.Locker
	RLock()
	RUnlock()
}

// FSM applies the log to a Broker. Apply, ApplyBatch, Snapshot and Restore are
// called by the consensus library from one goroutine; others read the state
// with Read and Inspect, and positions at any time.
type FSM struct {
	options  Options
	broker   *queue.Broker
	bodies   StateBodies     // of broker
	commands []queue.Command // of the entry being applied, reused
	decoder  codec.Decoder   // of commands
	position atomic.Pointer[snapshot.Position]
	access   atomic.Pointer[access.Table]
}

var _ raft.BatchingFSM = (*FSM)(nil)

// New returns an FSM with an empty state.
func New(options Options) *FSM {
	if options.StateLock == nil {
		options.StateLock = noLock{}
	}
	if options.VersionMax == 0 {
		options.VersionMax = format.CurrentVersion
	}
	f := &FSM{options: options, broker: queue.New()}
	f.bodies = f.beginBodies()
	f.broker.UseStore(f.bodies)
	f.position.Store(&snapshot.Position{StateHash: f.broker.StateHash()})
	f.access.Store(f.broker.View().Access())
	return f
}

// noLock is the lock of a state that nobody reads concurrently.
type noLock struct{}

func (noLock) Lock()    {}
func (noLock) Unlock()  {}
func (noLock) RLock()   {}
func (noLock) RUnlock() {}

// Read calls read with the present state, which cannot change meanwhile, and
// returns where it stands. read must not keep the View.
func (f *FSM) Read(read func(queue.View)) snapshot.Position {
	f.options.StateLock.RLock()
	defer f.options.StateLock.RUnlock()
	read(f.broker.View())
	return f.Position()
}

// Inspect calls inspect with the Broker while the state cannot change.
func (f *FSM) Inspect(inspect func(*queue.Broker)) {
	f.options.StateLock.RLock()
	defer f.options.StateLock.RUnlock()
	inspect(f.broker)
}

// BetweenCommands calls do while the state cannot change.
func (f *FSM) BetweenCommands(do func()) {
	f.options.StateLock.RLock()
	defer f.options.StateLock.RUnlock()
	do()
}

// FormatVersion is the format version in force.
func (f *FSM) FormatVersion() (version uint32) {
	f.Inspect(func(b *queue.Broker) { version = b.FormatVersion() })
	return version
}

// Broker is the present state. Use it only on the goroutine that calls Apply and
// Restore, or while holding the read side of StateLock: Restore replaces it.
func (f *FSM) Broker() *queue.Broker { return f.broker }

// View reads the present state, as Broker does.
func (f *FSM) View() queue.View { return f.broker.View() }

// Position is where the state stands. Safe for concurrent use; under the read
// side of StateLock it is the position of exactly the state that is read.
func (f *FSM) Position() snapshot.Position { return *f.position.Load() }

// Access is who may use the cluster, of the state that Position speaks of or a later one.
// Safe for concurrent use: it takes no lock, as every request asks it.
func (f *FSM) Access() *access.Table { return f.access.Load() }

// publishAccess is called when the state has changed, under StateLock.
func (f *FSM) publishAccess() {
	if now := f.broker.View().Access(); now != f.access.Load() {
		f.access.Store(now)
	}
}

// AppliedIndex is the index of the last entry the library has handed over. It
// hands over commands and configurations only, so this index can stay behind
// the library's own by the entries a new leader writes. Safe for concurrent
// use.
func (f *FSM) AppliedIndex() uint64 { return f.position.Load().Index }

// StateHash is the hash over the state and the index it stands at. Safe for
// concurrent use.
func (f *FSM) StateHash() (index uint64, hash [16]byte) {
	p := f.position.Load()
	return p.Index, p.StateHash
}

// ChainHash is the hash over all commands of the log up to an index. Safe for
// concurrent use.
func (f *FSM) ChainHash() (index uint64, hash [16]byte) {
	p := f.position.Load()
	return p.Index, p.ChainHash
}

// Apply applies one log entry. The answer is an EntryResult.
func (f *FSM) Apply(log *raft.Log) any {
	return f.ApplyBatch([]*raft.Log{log})[0]
}

// ApplyBatch applies log entries in order and answers each with an
// EntryResult, or nil for entries that hold no commands.
func (f *FSM) ApplyBatch(logs []*raft.Log) []any {
	results := make([]any, len(logs))
	var events []queue.Event
	for i, log := range logs {
		if last := f.position.Load().Index; log.Index <= last {
			f.fatal(fmt.Errorf("%w: entry %d was handed over after entry %d", ErrBrokenInvariant, log.Index, last))
		}
		if log.Type != raft.LogCommand {
			f.skip(log)
			continue
		}
		results[i], events = f.applyEntry(log, events)
	}
	if f.options.Applied != nil && len(logs) > 0 {
		p := f.position.Load()
		f.options.Applied(p.Index, p.At, events)
	}
	return results
}

// LogTime is that of the last entry applied. It never goes back.
func (f *FSM) LogTime() queue.Timestamp { return f.position.Load().At }

// skip moves past an entry without commands, such as a membership change. Its
// data belongs to the library and is no command.
func (f *FSM) skip(log *raft.Log) {
	p := f.Position()
	p.Index, p.Term = log.Index, log.Term
	f.moveTo(p)
}

// moveTo publishes a position of the same state.
func (f *FSM) moveTo(p snapshot.Position) {
	f.options.StateLock.Lock()
	defer f.options.StateLock.Unlock()
	f.position.Store(&p)
}

// reportAnswers calls Answered for the requests of this process.
func (f *FSM) reportAnswers(head codec.EntryHead, result EntryResult) {
	if f.options.Answered == nil {
		return
	}
	for i, response := range result.Responses {
		if id := head.Request(i); id.Origin != 0 && id.Origin == f.options.Origin {
			f.options.Answered(id.Number, response, result.Index, result.At)
		}
	}
}

// applyEntry decodes all commands of an entry, then applies them. The events
// are appended to events.
func (f *FSM) applyEntry(log *raft.Log, events []queue.Event) (EntryResult, []queue.Event) {
	f.commands = f.commands[:0]
	head, err := f.decoder.DecodeEntry(log.Data, func(cmd queue.Command) error {
		f.commands = append(f.commands, cmd)
		return f.checkVersion(cmd)
	})
	if err != nil {
		f.fatal(fmt.Errorf("log entry %d of term %d: %w", log.Index, log.Term, err))
	}
	result := EntryResult{Index: log.Index}
	last := f.position.Load()
	position := snapshot.Position{
		Index:     log.Index,
		Term:      log.Term,
		At:        last.At,
		StateHash: last.StateHash,
		ChainHash: nextChainHash(last.ChainHash, log.Term, log.Index, log.Data),
	}
	if head.Term != 0 && head.Term != log.Term {
		result.Void, result.At = true, last.At
		f.moveTo(position)
	} else {
		result.Responses = make([]codec.Response, len(f.commands))
		events = f.change(&position, head.At, result.Responses, events)
		result.At = position.At
		f.reportAudits(position)
		f.reportAnswers(head, result)
	}
	clear(f.commands)
	f.decoder.Reset()
	if f.options.Tap != nil {
		f.options.Tap(log.Index, log.Term, log.Data, result)
	}
	return result, events
}

// checkVersion refuses what only a newer program may read. The leader writes
// nothing of the kind before every member can.
func (f *FSM) checkVersion(cmd queue.Command) error {
	version := uint32(0)
	if set, ok := cmd.(*queue.SetFormatVersion); ok {
		version = set.Version
	} else if f.options.VersionMax < format.CurrentVersion {
		version = codec.MinimumVersion(cmd)
	}
	if version > f.options.VersionMax {
		return fmt.Errorf("%w: %T needs format version %d, this program knows %d", format.ErrUnknownFormat, cmd, version, f.options.VersionMax)
	}
	return nil
}

// reportAudits calls Audited for the audits among the commands of the entry just applied.
func (f *FSM) reportAudits(at snapshot.Position) {
	if f.options.Audited == nil {
		return
	}
	for _, cmd := range f.commands {
		if audit, ok := cmd.(*queue.Audit); ok {
			f.options.Audited(at, audit)
		}
	}
}

// change applies the decoded commands under StateLock and completes and publishes
// position. The lock is taken per entry, not per batch, so that readers wait
// for one entry at most.
func (f *FSM) change(position *snapshot.Position, at queue.Timestamp, responses []codec.Response, events []queue.Event) []queue.Event {
	f.options.StateLock.Lock()
	defer f.options.StateLock.Unlock()
	current := 0
	defer func() {
		if reason := recover(); reason != nil {
			command := f.commands[min(current, len(f.commands)-1)]
			if unreadable, ok := reason.(*queue.UnreadableBody); ok {
				f.fatal(fmt.Errorf("%w: log entry %d, command %d (%T): %w", ErrUnreadableBody, position.Index, current+1, command, unreadable))
			}
			f.fatal(fmt.Errorf("%w: log entry %d, command %d (%T): %v\n%s", ErrBrokenInvariant, position.Index, current+1, command, reason, debug.Stack()))
		}
	}()
	f.broker.ApplyAll(at, f.commands, func(i int, result queue.Result, err *queue.Error) {
		responses[i] = codec.Response{Result: result, Err: err}
		current = i + 1
	})
	events = f.broker.TakeEvents(events)
	position.At = f.broker.Now()
	position.StateHash = f.broker.StateHash()
	f.position.Store(position)
	f.publishAccess()
	return events
}

// Snapshot captures the state in constant time.
func (f *FSM) Snapshot() (raft.FSMSnapshot, error) {
	return f.Capture(), nil
}

// Capture is Freeze, and keeps the bodies of the state until it is released. Safe for
// concurrent use.
func (f *FSM) Capture() *Captured {
	f.options.StateLock.Lock()
	defer f.options.StateLock.Unlock()
	return &Captured{Position: f.Position(), frozen: f.broker.Freeze(), bodies: f.bodies.Capture()}
}

// Freeze captures the state and where it stands, in constant time. Safe for concurrent
// use. Bodies in files that the state has no more can go meanwhile, see Capture.
func (f *FSM) Freeze() (snapshot.Position, *queue.Frozen) {
	f.options.StateLock.Lock()
	defer f.options.StateLock.Unlock()
	return f.Position(), f.broker.Freeze()
}

// Restore replaces the state by that of a snapshot, if all of it is sound: what fails
// changes nothing. The log behind a snapshot that is damaged (snapshot.IsDamage) is gone, so
// that the caller has to end the node.
func (f *FSM) Restore(source io.ReadCloser) error {
	bodies := f.beginBodies()
	position, broker, err := snapshot.ReadWith(source, bodies)
	if closeErr := source.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("closing the snapshot: %w", closeErr)
	}
	if err == nil && broker.FormatVersion() > f.options.VersionMax {
		err = fmt.Errorf("%w: a snapshot of format version %d, this program knows %d",
			format.ErrUnknownFormat, broker.FormatVersion(), f.options.VersionMax)
	}
	if err != nil {
		return err
	}
	if missing := bodies.Adopt(); missing != nil { // last: the store lets go of what the state so far had
		return fmt.Errorf("%w: %w", format.ErrMalformed, missing)
	}
	f.options.StateLock.Lock()
	f.broker, f.bodies = broker, bodies
	f.position.Store(&position)
	f.publishAccess()
	events := broker.TakeEvents(nil)
	f.options.StateLock.Unlock()
	if f.options.Restored != nil {
		f.options.Restored()
	}
	if f.options.Applied != nil {
		f.options.Applied(position.Index, position.At, events)
	}
	return nil
}

// fatal reports err and does not return.
func (f *FSM) fatal(err error) {
	if f.options.Fatal != nil {
		f.options.Fatal(err)
	}
	panic(err)
}
