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

// Errors for Options.Fatal.
var (
	// ErrBrokenInvariant means that a command found the state inconsistent.
	ErrBrokenInvariant = errors.New("broken invariant")
	// ErrUnreadableBody means that this node cannot read a body that a command depends on.
	ErrUnreadableBody = errors.New("a command cannot be applied")
)

// Options connect an FSM to its node. All fields are optional.
type Options struct {
	// StateLock is locked while the state changes; Read and Inspect lock its read side. Without it,
	// only one goroutine may use the state.
	StateLock RWLocker
	// Applied is called after each batch with the last index, the log time and the events, on the
	// library's state machine goroutine, without StateLock. It may keep the events.
	Applied func(index uint64, at queue.Timestamp, events []queue.Event)
	// Tap is called with every applied entry and its answers, in order, without StateLock. It must
	// not keep data.
	Tap func(index, term uint64, data []byte, result EntryResult)
	// Audited is called with every applied Audit and the position after its entry, in order,
	// without StateLock. It must not block or keep the Audit.
	Audited func(at snapshot.Position, audit *queue.Audit)
	// Origin selects the requests for Answered.
	Origin uint64
	// Answered is called with the answer to each command of a request with Origin, in order and
	// before Applied, without StateLock. It must not block.
	Answered func(number uint64, response codec.Response, index uint64, at queue.Timestamp)
	// Restored is called when a snapshot has replaced the state, before Applied. The new state may
	// include commands that this FSM did not apply.
	Restored func()
	// VersionMax is the highest format version of this node; 0 means format.CurrentVersion. Tests
	// of mixed clusters set another one.
	VersionMax uint32
	// Bodies stores the bodies of messages; nil keeps them in memory.
	Bodies BodyStore
	// Fatal ends the process, because this replica could answer wrongly. The error is one of those
	// above or of package format. Fatal must not return; StateLock may be locked.
	Fatal func(error)
}

// RWLocker is a lock with a read side, such as *sync.RWMutex.
type RWLocker interface {
	sync.Locker
	RLock()
	RUnlock()
}

// FSM applies the log to a Broker. The consensus library calls Apply, ApplyBatch, Snapshot and
// Restore from one goroutine. Other goroutines may call Read, Inspect and the methods for
// positions.
type FSM struct {
	options  Options
	broker   *queue.Broker
	bodies   StateBodies     // of broker
	commands []queue.Command // of the current entry, reused
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

// noLock is for a state that only one goroutine uses.
type noLock struct{}

func (noLock) Lock()    {}
func (noLock) Unlock()  {}
func (noLock) RLock()   {}
func (noLock) RUnlock() {}

// Read calls read with the present state and returns its position. The state does not change during
// the call; read must not keep the View.
func (f *FSM) Read(read func(queue.View)) snapshot.Position {
	f.options.StateLock.RLock()
	defer f.options.StateLock.RUnlock()
	read(f.broker.View())
	return f.Position()
}

// Inspect calls inspect with the Broker. The state does not change during the call.
func (f *FSM) Inspect(inspect func(*queue.Broker)) {
	f.options.StateLock.RLock()
	defer f.options.StateLock.RUnlock()
	inspect(f.broker)
}

// BetweenCommands calls do. The state does not change during the call.
func (f *FSM) BetweenCommands(do func()) {
	f.options.StateLock.RLock()
	defer f.options.StateLock.RUnlock()
	do()
}

// FormatVersion returns the format version in force.
func (f *FSM) FormatVersion() (version uint32) {
	f.Inspect(func(b *queue.Broker) { version = b.FormatVersion() })
	return version
}

// Broker returns the present state. Use it only on the goroutine that calls Apply and Restore, or
// under the read side of StateLock: Restore replaces it.
func (f *FSM) Broker() *queue.Broker { return f.broker }

// View returns a View of Broker.
func (f *FSM) View() queue.View { return f.broker.View() }

// Position returns the position of the state. It is safe for concurrent use; under the read side of
// StateLock it belongs to exactly that state.
func (f *FSM) Position() snapshot.Position { return *f.position.Load() }

// Access returns the access keys, user policies and accounts, of the state at Position or a later
// one. It takes no lock, because every request needs it, and is safe for concurrent use.
func (f *FSM) Access() *access.Table { return f.access.Load() }

// publishAccess publishes changed access keys. Call it under StateLock after every change.
func (f *FSM) publishAccess() {
	if now := f.broker.View().Access(); now != f.access.Load() {
		f.access.Store(now)
	}
}

// AppliedIndex returns the index of the last entry from the library. The library passes on commands
// and configurations only, so its own index may be higher. Safe for concurrent use.
func (f *FSM) AppliedIndex() uint64 { return f.position.Load().Index }

// StateHash returns the hash of the state and its index. Safe for concurrent use.
func (f *FSM) StateHash() (index uint64, hash [16]byte) {
	p := f.position.Load()
	return p.Index, p.StateHash
}

// ChainHash returns the hash over all commands of the log up to an index. Safe for concurrent use.
func (f *FSM) ChainHash() (index uint64, hash [16]byte) {
	p := f.position.Load()
	return p.Index, p.ChainHash
}

// Apply applies one log entry and returns an EntryResult.
func (f *FSM) Apply(log *raft.Log) any {
	return f.ApplyBatch([]*raft.Log{log})[0]
}

// ApplyBatch applies log entries in order. It returns an EntryResult for each, or nil for an entry
// without commands.
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

// LogTime returns the log time of the last applied entry. It never decreases.
func (f *FSM) LogTime() queue.Timestamp { return f.position.Load().At }

// skip moves past an entry without commands, such as a membership change.
func (f *FSM) skip(log *raft.Log) {
	p := f.Position()
	p.Index, p.Term = log.Index, log.Term
	f.moveTo(p)
}

// moveTo publishes a new position of the same state.
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

// applyEntry decodes all commands of an entry, then applies them. It appends their events to
// events.
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

// checkVersion refuses a command that needs a newer program. The leader writes none before every
// member can read it.
func (f *FSM) checkVersion(cmd queue.Command) error {
	version := uint32(0)
	if set, ok := cmd.(*queue.SetFormatVersion); ok {
		version = set.Version
	} else if f.options.VersionMax < format.CurrentVersion {
		version = codec.MinimumVersion(cmd)
	}
	if version > f.options.VersionMax {
		return fmt.Errorf("%w: %T needs format version %d, this program knows %d", format.ErrUnknownFormat, cmd, version,
			f.options.VersionMax)
	}
	return nil
}

// reportAudits calls Audited for the audits of the applied entry.
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

// change applies the decoded commands under StateLock and publishes their position. It locks per
// entry, not per batch, so that readers wait for one entry at most.
func (f *FSM) change(position *snapshot.Position, at queue.Timestamp, responses []codec.Response, events []queue.Event) []queue.Event {
	f.options.StateLock.Lock()
	defer f.options.StateLock.Unlock()
	current := 0
	defer func() {
		if reason := recover(); reason != nil {
			command := f.commands[min(current, len(f.commands)-1)]
			if unreadable, ok := reason.(*queue.UnreadableBody); ok {
				f.fatal(fmt.Errorf("%w: log entry %d, command %d (%T): %w", ErrUnreadableBody, position.Index, current+1, command,
					unreadable))
			}
			f.fatal(fmt.Errorf("%w: log entry %d, command %d (%T): %v\n%s", ErrBrokenInvariant, position.Index, current+1, command, reason,
				debug.Stack()))
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

// Capture freezes the state and keeps its bodies until Release. Safe for concurrent use.
func (f *FSM) Capture() *Captured {
	f.options.StateLock.Lock()
	defer f.options.StateLock.Unlock()
	return &Captured{Position: f.Position(), frozen: f.broker.Freeze(), bodies: f.bodies.Capture()}
}

// Freeze captures the state and its position in constant time. Safe for concurrent use. Later
// commands may delete its bodies in files, see Capture.
func (f *FSM) Freeze() (snapshot.Position, *queue.Frozen) {
	f.options.StateLock.Lock()
	defer f.options.StateLock.Unlock()
	return f.Position(), f.broker.Freeze()
}

// Restore replaces the state by that of a snapshot. An error changes nothing. If the snapshot is
// damaged (snapshot.IsDamage), its part of the log is gone, and the caller must end the node.
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
	if missing := bodies.Adopt(); missing != nil { // last: it releases the bodies of the old state
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
