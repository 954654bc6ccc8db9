package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/codec"
)

// PressureLimits bound the state and the disk. Beyond them the node refuses sends and publishes, but
// not receives, deletes and other commands that make room (decision 12). It never drops
// acknowledged messages to make room.
type PressureLimits struct {
	// StateBytes bounds the estimated size of the state in memory; 0: no bound. The check
	// comes before a command is written, so the state may exceed the bound by the size of the
	// proposal queue.
	StateBytes int64
	// DiskRefuse is the free space of the data directory below which a
	// leader refuses sends; unset: 15 % or 1 GiB, whichever is less.
	DiskRefuse DiskMark
	// DiskResign is the free space below which a node hands leadership over;
	// unset: 5 % or 350 MiB, whichever is less.
	DiskResign DiskMark
	// DiskSpace returns the space of the file system that holds a path; unset: that of the
	// operating system.
	DiskSpace func(path string) (environment.DiskSpace, error)
	// ServeDiverged accepts sends although two replicas differ and no majority says which of
	// them is right.
	ServeDiverged bool
}

// DiskMark is an amount of free space: a part of the file system, a number of
// bytes, or, if both are set, the smaller of the two.
type DiskMark struct {
	Percent int
	Bytes   uint64
}

// DiskMarkOff is a mark that is never reached.
var DiskMarkOff = DiskMark{Bytes: 1}

func (m DiskMark) bytes(total uint64) uint64 {
	part := total / 100 * uint64(m.Percent)
	switch {
	case m.Percent == 0:
		return m.Bytes
	case m.Bytes == 0:
		return part
	default:
		return min(part, m.Bytes)
	}
}

func (l PressureLimits) withDefaults() PressureLimits {
	setDefault(&l.DiskRefuse, DiskMark{Percent: 15, Bytes: 1 << 30})
	setDefault(&l.DiskResign, DiskMark{Percent: 5, Bytes: 350 << 20})
	if l.DiskSpace == nil {
		l.DiskSpace = environment.SystemDiskSpace
	}
	return l
}

// Reasons of pressure, as labels of metrics.
const (
	pressureState      = "state"
	pressureDisk       = "disk"
	pressureDivergence = "divergence"
	pressureQueue      = "queue"
)

// pressure decides whether this node, if it leads, takes sends. Safe for concurrent use.
type pressure struct {
	limits   PressureLimits
	nodeName string
	path     string
	log      *slog.Logger
	diverged func() bool // two replicas differ, see audit.Auditor.Split

	stateBytes atomic.Int64
	stateLost  atomic.Int64 // sum of all decreases
	free       atomic.Uint64
	total      atomic.Uint64
	level      atomic.Uint32 // a membership.DiskLevel
	// membersLow is set while so many voters lack room that no majority has it.
	membersLow atomic.Bool
	refused    struct{ state, disk, divergence atomic.Uint64 }
	written    wakeup.Signal // something was applied, so that the disk may be fuller
}

func newPressure(cfg Config, diverged func() bool) *pressure {
	return &pressure{
		limits: cfg.Limits.Pressure, nodeName: cfg.NodeName, path: cfg.DataDir, log: cfg.Logger, diverged: diverged,
		written: wakeup.NewSignal(),
	}
}

// applied notes the size of the state. It runs on the state machine's goroutine.
func (p *pressure) applied(stateBytes int64) {
	if before := p.stateBytes.Swap(stateBytes); before > stateBytes {
		p.stateLost.Add(before - stateBytes)
	}
	p.written.Notify()
}

func (p *pressure) diskLevel() membership.DiskLevel { return membership.DiskLevel(p.level.Load()) }

// stateFull reports whether the state has reached its limit.
func (p *pressure) stateFull() bool {
	return p.limits.StateBytes > 0 && p.stateBytes.Load() >= p.limits.StateBytes
}

// reason returns the reason to refuse sends now, as a label and for people; both are empty if there
// is none.
func (p *pressure) reason() (label, text string) {
	switch {
	case p.diverged() && !p.limits.ServeDiverged:
		return pressureDivergence, "two replicas of the state differ and nothing says which is right; see the logs of the nodes"
	case p.stateFull():
		return pressureState, fmt.Sprintf("the state takes %s of memory and its limit is %s (state-bytes-max)",
			health.Bytes(uint64(p.stateBytes.Load())), health.Bytes(uint64(p.limits.StateBytes))) //nolint:gosec // neither is below zero
	case p.diskLevel() >= membership.DiskLow:
		least := p.limits.DiskRefuse.bytes(p.total.Load())
		return pressureDisk, fmt.Sprintf("the disk with the data directory of %s has %s free; sends are refused below %s "+
			"(disk-free-refuse) and accepted again from %s",
			p.nodeName, health.Bytes(p.free.Load()), health.Bytes(least), health.Bytes(toLeave(least)))
	case p.membersLow.Load():
		return pressureDisk, "the disks of so many nodes are nearly full that no majority has room"
	}
	return "", ""
}

// refuse counts a refused send and returns the reason, empty if the send is accepted.
func (p *pressure) refuse() string {
	label, text := p.reason()
	switch label {
	case pressureState:
		p.refused.state.Add(1)
	case pressureDisk:
		p.refused.disk.Add(1)
	case pressureDivergence:
		p.refused.divergence.Add(1)
	}
	return text
}

// measure reads the free space of the disk and reports whether its level changed.
func (p *pressure) measure() (changed bool) {
	space, err := p.limits.DiskSpace(p.path)
	if err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			p.log.Warn("the free space of the data directory is unknown", "error", err)
		}
		return false
	}
	p.free.Store(space.Free)
	p.total.Store(space.Total)
	before := p.diskLevel()
	level := levelOf(space, p.limits, before)
	if level == before {
		return false
	}
	p.level.Store(uint32(level))
	switch level {
	case membership.DiskEnough:
		p.log.Info("the disk has room again", "free", space.Free)
	case membership.DiskLow:
		p.log.Warn("the disk is nearly full, this node takes no sends while it leads", "free", space.Free)
	case membership.DiskFull:
		p.log.Error("the disk is nearly full, this node leaves leading to others", "free", space.Free)
	}
	return true
}

// room returns the bytes that can be written before this node hands leadership over for
// lack of space. There is no bound if the free space is unknown.
func (p *pressure) room() int64 {
	space, err := p.limits.DiskSpace(p.path)
	if err != nil {
		return math.MaxInt64
	}
	kept := p.limits.DiskResign.bytes(space.Total)
	return int64(max(space.Free, kept) - kept) //nolint:gosec // no disk is so large
}

// toLeave returns the free space that ends a level which begins below least.
func toLeave(least uint64) uint64 { return least + least/10 }

// levelOf compares the free space with the marks. A level ends with a tenth more free space than it
// begins with, so that it does not flap.
func levelOf(space environment.DiskSpace, limits PressureLimits, before membership.DiskLevel) membership.DiskLevel {
	below := func(mark DiskMark, level membership.DiskLevel) bool {
		least := mark.bytes(space.Total)
		if before >= level {
			least = toLeave(least)
		}
		return space.Free < least
	}
	switch {
	case below(limits.DiskResign, membership.DiskFull):
		return membership.DiskFull
	case below(limits.DiskRefuse, membership.DiskLow):
		return membership.DiskLow
	default:
		return membership.DiskEnough
	}
}

const (
	diskLookIdle = 10 * time.Second
	diskLookBusy = 500 * time.Millisecond
	// reclaimPause is the least time between two snapshots that reclaim space.
	reclaimPause = 30 * time.Second
	// deadLogPause is the least time between two snapshots that shorten the next start.
	deadLogPause = time.Minute
)

// watchDisk measures the free space until the node closes: often during writes, else seldom.
func (n *Node) watchDisk() {
	var next, nextDead, nextKeys time.Duration // when space may be reclaimed, dead log dropped, and keys looked at, on the monotonic clock
	for {
		changed := n.process.gossip.Changes()
		if n.pressure.measure() {
			n.process.gossip.SetDisk(uint8(n.pressure.diskLevel()))
			n.process.gossip.Announce()
			n.members.FitnessChanged()
		}
		n.pressure.membersLow.Store(n.noMajorityHasRoom())
		// Without sends the log hardly grows, so no snapshot would reclaim the space of
		// deleted messages.
		now, free, state := n.cfg.Clock.Monotonic(), n.pressure.free.Load(), n.pressure.stateBytes.Load()
		if n.pressure.diskLevel() >= membership.DiskLow && now >= next && n.group.ReclaimSpace(free, state) {
			next = now + reclaimPause
		}
		if now >= nextDead && n.group.DropDeadLog(free, state, n.pressure.stateLost.Load()) {
			nextDead = now + deadLogPause
		}
		if now >= nextKeys {
			if err := n.lookAtKeys(); err != nil {
				n.log.Warn("cannot find out which encryption keys are needed", "error", err)
			}
			nextKeys = now + keyLook
		}
		if !n.waitForWrites(changed) {
			return
		}
	}
}

// waitForWrites waits until the free space may have changed. It returns false when the node
// closes.
func (n *Node) waitForWrites(changed <-chan struct{}) bool {
	idle, busy := time.NewTimer(diskLookIdle), time.NewTimer(diskLookBusy)
	defer idle.Stop()
	defer busy.Stop()
	select {
	case <-n.stages.closing.Done():
		return false
	case <-changed:
		return true
	case <-idle.C:
		return true
	case <-n.pressure.written:
	}
	select {
	case <-n.stages.closing.Done():
		return false
	case <-busy.C:
		return true
	}
}

// noMajorityHasRoom reports whether too many voters have disks that are nearly full. A silent voter
// counts as one with room.
func (n *Node) noMajorityHasRoom() bool {
	low := map[string]bool{n.process.nodeID: n.pressure.diskLevel() >= membership.DiskLow}
	for _, m := range n.process.gossip.View() {
		low[m.NodeID] = m.Alive && membership.DiskLevel(m.Disk) >= membership.DiskLow
	}
	voters, roomy := 0, 0
	for _, m := range n.group.Stats().Members {
		if m.Voter {
			voters++
			if !low[m.NodeID] {
				roomy++
			}
		}
	}
	return voters > 0 && 2*roomy <= voters
}

// refuseCommand returns the outcome of a client's command that the leader refuses now, or a zero
// Outcome if it accepts the command.
func (n *Node) refuseCommand(frame []byte) leader.Outcome {
	if codec.AddsMessages(frame) {
		if reason := n.pressure.refuse(); reason != "" {
			return leader.Outcome{Verdict: leader.UnderPressure, Reason: reason}
		}
		return leader.Outcome{}
	}
	reason := ""
	switch name, _ := codec.CommandName(frame); name { // a command without a name is refused elsewhere
	case raiseName:
		reason = n.members.RaiseRefusal(frame)
	case createKeyName:
		reason = n.clearSecret(frame)
	}
	if reason != "" {
		return leader.Outcome{Verdict: leader.Unsupported, Reason: reason}
	}
	return leader.Outcome{}
}

// Names of the commands that the leader inspects.
const (
	raiseName     = "SetFormatVersion"
	createKeyName = "CreateAccessKey"
)
