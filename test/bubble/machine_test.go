package bubble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/environment"
)

// Ports of the nodes on their machines.
const (
	peerPort   = 7000
	gossipPort = 7001
)

func hostOf(machine int) string        { return fmt.Sprintf("10.0.0.%d", machine+1) }
func machineOf(address netip.Addr) int { return int(address.As4()[3]) - 1 }
func nameOf(machine int) string        { return fmt.Sprintf("n%d", machine+1) }
func at(machine, port int) string      { return fmt.Sprintf("%s:%d", hostOf(machine), port) }

// machine is a computer with a disk, a clock and a node. Only the schedule calls its methods,
// unless they are documented as safe for concurrent use.
type machine struct {
	run    *run
	number int
	lives  int
	dir    string
	stale  string // copy of the disk at the crash before, for a forgetful machine
	disk   disk
	clock  offsetClock

	mu      sync.Mutex
	node    *cluster.Node // nil while down
	process *process
	ended   string // why the current process ended itself
	nodeID  string
	joined  bool // whether the spare machine has joined
	removed bool // whether it was removed from the cluster
}

// disk delays or stops writes. Safe for concurrent use.
type disk struct {
	pace time.Duration // a write takes up to twice as long

	mu     sync.Mutex
	random *rand.Rand
	slow   time.Duration
	freed  chan struct{} // nil unless the disk hangs; closed when the hang ends
}

// paceOf returns the speed of a machine's disk. In a third of the seeds all disks are alike, in a
// third one is ten times slower, and in a third one is ten times faster. So entries reach the
// followers' disks before, with, or after the leader's.
func paceOf(seed uint64, machine, machines int) time.Duration {
	const fast, slow = time.Millisecond, 10 * time.Millisecond
	odd := machine == int(seed/3%uint64(machines))
	if seed%3 == 1 && odd || seed%3 == 2 && !odd {
		return slow
	}
	return fast
}

// storeTerm is the name of writes of term and vote.
const storeTerm = "write term or vote"

// errDead is the disk error of a dead process.
var errDead = errors.New("the machine is gone")

// through executes one write of a process with a delay before and after it, so that a crash may
// come between the write and its confirmation.
func (d *disk) through(p *process, what string, write func() error) error {
	err := d.perform(p, write)
	if errors.Is(err, errDead) && strings.HasPrefix(what, storeTerm) {
		// The library may panic here, since a node whose disk fails has ended.
		runtime.Goexit()
	}
	return err
}

func (d *disk) perform(p *process, write func() error) error {
	d.mu.Lock()
	before := time.Duration(d.random.Int64N(int64(d.pace + d.slow)))
	behind := time.Duration(d.random.Int64N(int64(d.pace + d.slow)))
	freed := d.freed
	d.mu.Unlock()
	if freed != nil {
		select {
		case <-freed:
		case <-p.gone:
		}
	}
	if !p.pause(before) {
		return errDead
	}
	err := write()
	if !p.pause(behind) {
		return errDead
	}
	return err
}

// pause waits and reports whether the process still lives.
func (p *process) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.gone:
	}
	return !p.dead()
}

func (d *disk) hang() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.freed == nil {
		d.freed = make(chan struct{})
	}
}

func (d *disk) free() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.freed != nil {
		close(d.freed)
		d.freed = nil
	}
	d.slow = 0
}

func (d *disk) slowDown(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow = by
}

// offsetClock is a clock with an adjustable error. Safe for concurrent use.
type offsetClock struct {
	began  time.Time
	offset atomic.Int64
}

func (c *offsetClock) Wall() time.Time {
	return time.Now().Add(time.Duration(c.offset.Load())).Round(0)
}
func (c *offsetClock) Monotonic() time.Duration { return time.Since(c.began) }

// start opens a node on the machine's directory.
func (m *machine) start(ctx context.Context) {
	m.lives++
	m.disk.free() // the schedule waits here, so it cannot do this itself
	p := m.run.network.begin(m.number)
	cfg := m.run.config(m, p)
	node, err := cluster.Open(ctx, cfg)
	if err != nil {
		m.run.wrong("machine %d does not start: %v", m.number, err)
		m.run.network.kill(p, false)
		return
	}
	m.mu.Lock()
	m.node, m.process, m.ended, m.nodeID = node, p, "", node.Status().NodeID
	m.mu.Unlock()
	m.run.note("start", m.number, "life %d as %s", m.lives, m.id())
}

// id returns the node id of the machine. Safe for concurrent use.
func (m *machine) id() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodeID
}

// wanted reports whether the machine should be part of the cluster. Safe for concurrent use.
func (m *machine) wanted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.removed && (m.number < m.run.plan.initialMembers || m.joined)
}

// bury cleans up a node that ended itself, and reports whether there was one.
func (m *machine) bury() bool {
	node, p := m.present()
	if node == nil || !p.dead() {
		return false
	}
	m.crash(false)
	return true
}

// present returns the node and its process, nil while it is down. Safe for concurrent use.
func (m *machine) present() (*cluster.Node, *process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node, m.process
}

// crash ends the node like a kill or a power cut: the process sends and writes nothing more, and
// the disk keeps what had reached it. The goroutines of the dead node are stopped without effect on
// anything else.
func (m *machine) crash(power bool) {
	node, p := m.present()
	if node == nil {
		return
	}
	// Nothing runs while the disk is copied; writes in progress wait in through.
	synctest.Wait()
	m.mu.Lock()
	m.node = nil
	m.mu.Unlock()
	m.run.network.kill(p, power)
	m.run.referee.crashed(m.number)
	fresh := filepath.Join(m.run.dir, fmt.Sprintf("%s-%d", nameOf(m.number), m.lives+1))
	if err := copyTree(m.dir, fresh); err != nil {
		m.run.wrong("copy the disk of machine %d: %v", m.number, err)
	}
	m.dir = fresh
	if m.run.plan.forgetful {
		m.dir, m.stale = m.stale, fresh+"-kept"
		if err := copyTree(fresh, m.stale); err != nil {
			m.run.wrong("copy the disk of machine %d: %v", m.number, err)
		}
		if m.dir == "" {
			m.dir = fresh
		}
	}
	m.run.windUp(node)
}

// stop ends the node cleanly.
func (m *machine) stop(ctx context.Context) {
	node, p := m.present()
	if node == nil {
		return
	}
	m.mu.Lock()
	m.node = nil
	m.mu.Unlock()
	if err := node.Close(ctx); err != nil && !m.diedByItself() {
		m.run.wrong("machine %d does not stop: %v", m.number, err)
	}
	m.run.network.kill(p, false)
	m.run.referee.crashed(m.number)
}

func (m *machine) diedByItself() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended != ""
}

// fatal is called when a node would end its process.
func (m *machine) fatal(p *process, code cluster.ExitCode, err error) {
	if p.dead() {
		return
	}
	m.mu.Lock()
	m.ended = fmt.Sprintf("exit %d: %v", code, err)
	m.removed = m.removed || code == cluster.ExitRemoved
	m.mu.Unlock()
	m.run.note("fatal", m.number, "exit %d: %v", code, err)
	switch code {
	case cluster.ExitDiskHang, cluster.ExitRemoved, cluster.ExitStuckTransfer:
	default:
		m.run.wrong("machine %d ended itself with %d: %v", m.number, code, err)
	}
	// From now on it is silent, like an ended process.
	m.run.network.kill(p, false)
	m.run.deaths <- m.number
}

// copyTree copies regular files and folders.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})
}

// config returns the configuration of a machine's node in this run.
func (r *run) config(m *machine, p *process) cluster.Config {
	var join []string
	for i := range r.plan.initialMembers {
		join = append(join, at(i, gossipPort))
	}
	cfg := cluster.Config{
		NodeName: nameOf(m.number), DataDir: m.dir,
		PeerAddr: at(m.number, peerPort), GossipAddr: at(m.number, gossipPort),
		Join: join, BootstrapExpect: r.plan.initialMembers,
		Log: cluster.LogPolicy{
			Store: r.plan.store, SegmentBytes: 256 << 10, CacheBytes: r.plan.cacheBytes,
			Audit: cluster.AuditPolicy{Interval: 2 * time.Second, Entries: 50},
		},
		Snapshot: cluster.SnapshotPolicy{LogBytes: r.plan.snapshotBytes, TrailingBytes: r.plan.trailingBytes},
		Timing:   r.plan.timing,
		Limits:   cluster.RequestLimits{Timeout: requestTimeout},
		Settings: cluster.ClusterSettings{MinimumWindowSeconds: 1},
		Members:  cluster.MembershipPolicy{PromoteAfter: 2 * time.Second},
		Version:  "bubble",
		Clock:    &m.clock,
		Logger:   slog.New(slog.NewTextHandler(r.logOf(m), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Fatal:    func(code cluster.ExitCode, err error) { m.fatal(p, code, err) },
	}
	if m.number >= r.plan.initialMembers {
		cfg.BootstrapExpect = 0
	}
	cfg.Environment = environment.Environment{
		Network: &seat{process: p, host: hostOf(m.number)},
		Disk:    func(what string, write func() error) error { return m.disk.through(p, what, write) },
	}
	return cfg
}
