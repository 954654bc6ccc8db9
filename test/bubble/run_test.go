package bubble

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// plan contains the choices of a seed before the run.
type plan struct {
	initialMembers int
	spare          bool // there is another machine, which joins
	store          string
	cacheBytes     int
	snapshotBytes  int64
	trailingBytes  int64
	timing         cluster.Timing
	load           time.Duration
	forgetful      bool // planted: after a crash a machine has the disk of the crash before
}

func newPlan(random *rand.Rand) plan {
	p := plan{initialMembers: 3, spare: random.IntN(3) == 0, store: cluster.LogStoreWAL,
		load: 6*time.Second + time.Duration(random.Int64N(int64(12*time.Second)))}
	switch random.IntN(12) {
	case 0:
		p.initialMembers = 5
	case 1:
		p.initialMembers = 1
	}
	if random.IntN(4) == 0 {
		p.store = cluster.LogStoreBoltDB
	}
	// The cache is small. Otherwise a leader could serve from it what its log no longer holds.
	p.cacheBytes = 1 + random.IntN(2)*(32<<10)
	p.snapshotBytes = int64(2<<10) << (2 * random.IntN(4))
	p.trailingBytes = int64(512) << (2 * random.IntN(3))
	switch random.IntN(3) {
	case 0: // the defaults
	case 1:
		p.timing = cluster.Timing{Heartbeat: 300 * time.Millisecond, Election: 300 * time.Millisecond, Lease: 150 * time.Millisecond}
	case 2:
		p.timing = cluster.Timing{Heartbeat: 800 * time.Millisecond, Election: 900 * time.Millisecond, Lease: 400 * time.Millisecond,
			RPC: 2 * time.Second}
	}
	p.timing.DiskDeadline = 4 * time.Second
	return p
}

// run is the life of one cluster. Some methods are safe for concurrent use, as documented.
type run struct {
	seed     uint64
	plan     plan
	dir      string
	ctx      context.Context // of all calls, until the end of the run
	began    time.Time
	random   *rand.Rand // of the schedule only
	network  *network
	referee  *referee
	machines []*machine
	deaths   chan int // machines whose node ended itself; capacity for the whole run
	winding  sync.WaitGroup
	loaded   context.Context // ends with the load

	mu sync.Mutex
	findings
}

// findings contains the records of a run.
type findings struct {
	ops     int64
	events  []history.Event
	trace   []string
	wrongs  []string
	logs    map[int]*bytes.Buffer
	hashes  map[uint64]string // of the state, by index
	virtual time.Duration
	leads   map[uint64]bool // terms in which a leader was seen
}

func newRun(seed uint64, dir string) *run {
	random := rand.New(rand.NewPCG(seed, 71))
	r := &run{
		seed: seed, dir: dir, random: random, plan: newPlan(random), began: time.Now(),
		deaths:   make(chan int, 1024),
		findings: findings{logs: map[int]*bytes.Buffer{}, hashes: map[uint64]string{}, leads: map[uint64]bool{}},
	}
	r.referee = newReferee(r.wrong)
	r.network = newNetwork(rand.New(rand.NewPCG(seed, 72)), r.referee)
	machines := r.plan.initialMembers
	if r.plan.spare {
		machines++
	}
	for i := range machines {
		m := &machine{run: r, number: i, dir: filepath.Join(dir, nameOf(i)+"-1")}
		m.disk.pace = paceOf(seed, i, machines)
		m.disk.random = rand.New(rand.NewPCG(seed, uint64(100+i)))
		m.clock.began = r.began
		r.machines = append(r.machines, m)
	}
	return r
}

// now is the virtual time since the beginning in microseconds. Safe for concurrent use.
func (r *run) now() int64 { return time.Since(r.began).Microseconds() }

// wrong records a violation. Safe for concurrent use.
func (r *run) wrong(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.note("WRONG", -1, "%s", text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrongs = append(r.wrongs, text)
}

// note adds a line to the trace. Safe for concurrent use.
func (r *run) note(what string, machine int, format string, args ...any) {
	line := fmt.Sprintf("%12.6f %-10s", time.Since(r.began).Seconds(), what)
	if machine >= 0 {
		line += " " + nameOf(machine)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, line+" "+fmt.Sprintf(format, args...))
}

// record adds an event to the history, unless its call was never made. Safe for
// concurrent use.
func (r *run) record(e history.Event) {
	if e.Kind == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.ID == 0 {
		r.ops++
		e.ID = r.ops
	}
	r.events = append(r.events, e)
}

func (r *run) nextOp() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops++
	return r.ops
}

// lockedWriter is a log that the processes of a node write to in turn.
type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(content []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(content)
}

func (r *run) logOf(m *machine) io.Writer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.logs[m.number] == nil {
		r.logs[m.number] = &bytes.Buffer{}
	}
	return lockedWriter{&r.mu, r.logs[m.number]}
}

// windUp closes a node that is dead already.
func (r *run) windUp(node *cluster.Node) {
	r.winding.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = node.Close(ctx) // its disk and its network are gone
	})
}

// pauseLoad waits and reports whether the load continues. Safe for concurrent use.
func (r *run) pauseLoad(d time.Duration) bool { return pause(r.loaded, d) }

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// live is the whole run: found a cluster, load with faults, heal, drain, compare, stop.
func (r *run) live() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.ctx = ctx
	rules := history.Rules{
		Seed: r.seed, Started: r.began.UnixMilli(), Window: window * 1e6, Attempt: attemptWindow * 1e6, Visibility: visibility * 1e6,
		Slack: (2*time.Second + 2*offsetMax).Microseconds(),
	}
	r.record(history.Event{Kind: history.KindRun, Detail: history.Detail{Rules: &rules}})
	for _, m := range r.machines[:r.plan.initialMembers] {
		m.start(ctx)
	}
	if r.found() {
		watched, unwatch := context.WithCancel(ctx)
		var watching sync.WaitGroup
		watching.Go(func() { r.watch(watched) })
		r.work()
		r.heal()
		r.drain()
		r.agree()
		unwatch()
		watching.Wait()
	}
	for _, m := range r.machines {
		closing, stop := context.WithTimeout(ctx, 10*time.Second)
		m.stop(closing)
		stop()
	}
	r.winding.Wait()
	r.virtual = time.Since(r.began)
	// A probe of the gossip library ends some time after its timeout.
	time.Sleep(probeEnd)
}

const probeEnd = 30 * time.Second

// found waits for the cluster and creates the queues.
func (r *run) found() bool {
	c := r.newClient(0, "setup")
	for _, name := range append(queues(), "probe.fifo") {
		made := false
		for tries := 0; !made && tries < 300; tries++ {
			if made = c.create(r.machines[0], name); !made {
				pause(r.ctx, 100*time.Millisecond)
			}
		}
		if !made {
			r.wrong("no queue could be made: the cluster was not founded")
			return false
		}
	}
	r.note("founded", -1, "%+v", r.plan)
	return true
}

func queues() []string {
	var names []string
	for _, w := range workloads {
		names = append(names, w.name+".fifo")
	}
	return names
}

// work runs the clients while the schedule injects faults.
func (r *run) work() {
	loaded, cancel := context.WithTimeout(r.ctx, r.plan.load)
	defer cancel()
	r.loaded = loaded
	var clients sync.WaitGroup
	number := 0
	for _, w := range workloads {
		for range w.clients {
			number++
			c := r.newClient(number, w.name)
			clients.Go(func() {
				for c.think() {
					w.step(c)
				}
			})
		}
	}
	s := newSchedule(r)
	s.inject(loaded)
	// Waiting calls get their answers before the repairs.
	clients.Wait()
	s.endAll()
}

// Bounds of faults.md I14 and I15, in virtual time.
const (
	liveLimit  = 15 * time.Second
	agreeLimit = 60 * time.Second
)

// heal starts the machines that are down, and demands service from every node.
func (r *run) heal() {
	for _, m := range r.machines {
		if m.wanted() {
			if node, _ := m.present(); node == nil {
				m.start(r.ctx)
			}
		}
	}
	r.note("healed", -1, "")
	r.dismiss()
	var probing sync.WaitGroup
	for _, m := range r.machines {
		if !m.wanted() {
			continue
		}
		c := r.newClient(100+m.number, "probe")
		e := history.Event{Kind: history.KindLive, Node: nameOf(m.number), Action: history.Send, Call: r.now(), Result: history.Fail,
			Error: "no success"}
		probing.Go(func() {
			limit, cancel := context.WithTimeout(r.ctx, liveLimit)
			defer cancel()
			body := c.body()
			for limit.Err() == nil && e.Result == history.Fail {
				if c.send(m, c.queue(), e.Node, keyOf(body), body) {
					if _, result := c.receive(m, c.queue(), 10, c.attempt(), false); result == history.OK {
						e.Result, e.Error = history.OK, ""
					}
				}
				pause(limit, 50*time.Millisecond)
			}
			if node, _ := m.present(); node != nil && e.Error != "" {
				e.Error = fmt.Sprint(e.Error, ", ready: ", node.Ready())
			}
			e.Return = r.now()
			r.record(e)
		})
	}
	// A node may still end because its disk hung before.
	for done := wait(&probing); ; {
		select {
		case number := <-r.deaths:
			if m := r.machines[number]; m.bury() && m.wanted() {
				m.start(r.ctx)
			}
			continue
		case <-done:
		}
		return
	}
}

// dismiss stops the removed machine, whether or not it knows of its removal.
func (r *run) dismiss() {
	limit, cancel := context.WithTimeout(r.ctx, liveLimit)
	defer cancel()
	var list cluster.MemberList
	err := fmt.Errorf("no node runs")
	for again := true; again && err != nil; again = pause(limit, 100*time.Millisecond) {
		for _, m := range r.machines {
			if node, p := m.present(); node != nil && !p.dead() && err != nil {
				list, err = node.Members(limit)
			}
		}
	}
	if err != nil {
		r.wrong("the members are not known after healing: %v", err)
		return
	}
	for _, m := range r.machines[:r.plan.initialMembers] {
		member := slices.ContainsFunc(list.Members, func(s cluster.MemberStatus) bool { return s.NodeID == m.id() })
		if m.wanted() && !member {
			r.note("dismiss", m.number, "")
			m.mu.Lock()
			m.removed = true
			m.mu.Unlock()
			m.crash(false)
		}
	}
}

func wait(group *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() { // ends with the group
		group.Wait()
		close(done)
	}()
	return done
}

// drain empties every queue to the end.
func (r *run) drain() {
	var draining sync.WaitGroup
	for i, name := range append(queues(), "probe.fifo") {
		c := r.newClient(200+i, name[:len(name)-len(".fifo")])
		draining.Go(func() {
			quiet := time.Now()
			for time.Since(quiet) < (visibility+2)*time.Second+2*offsetMax {
				messages, result := c.receive(c.running(), name, 10, "", false)
				for _, m := range messages {
					c.remove(c.running(), name, m.Handle, m.ID)
				}
				if result != history.OK || len(messages) > 0 {
					quiet = time.Now()
				}
				if time.Since(r.began) > 3*time.Minute {
					r.wrong("queue %s is never empty", name)
					return
				}
				pause(r.ctx, 250*time.Millisecond)
			}
			r.record(history.Event{Kind: history.KindDrained, Queue: name, Call: r.now(), Return: r.now()})
		})
	}
	draining.Wait()
}

// agree waits until all nodes report the same state at one index.
func (r *run) agree() {
	e := history.Event{Kind: history.KindAgree, Call: r.now(), Result: history.Fail}
	limit := time.Now().Add(agreeLimit)
	for e.Result == history.Fail && time.Now().Before(limit) {
		synctest.Wait()
		seen := map[string]bool{}
		e.Error = ""
		for _, m := range r.machines {
			if node, _ := m.present(); node != nil {
				s := node.Status()
				seen[fmt.Sprint(s.AppliedIndex, " ", s.StateHash)] = true
				e.Error += fmt.Sprintf("%s at %d of %d %s; ", s.NodeName, s.AppliedIndex, s.CommitIndex, s.StateHash)
			}
		}
		if len(seen) == 1 {
			e.Result, e.Error = history.OK, ""
		} else {
			pause(r.ctx, 20*time.Millisecond)
		}
	}
	e.Return = r.now()
	r.record(e)
}

// watch compares the states of all nodes at every index it sees, and records who leads.
func (r *run) watch(ctx context.Context) {
	roles := map[int]string{}
	for pause(ctx, 100*time.Millisecond) {
		for _, m := range r.machines {
			node, p := m.present()
			if node == nil || p.dead() {
				continue
			}
			s := node.Status()
			if role := fmt.Sprint(s.Role, " of term ", s.Term); roles[m.number] != role {
				roles[m.number] = role
				r.note("role", m.number, "%s, applied %d, snapshot %d", role, s.AppliedIndex, s.LastSnapshotIndex)
			}
			r.mu.Lock()
			if s.Role == "leader" {
				r.leads[s.Term] = true
			}
			known, found := r.hashes[s.AppliedIndex]
			r.hashes[s.AppliedIndex] = s.StateHash
			r.mu.Unlock()
			if found && known != s.StateHash {
				r.wrong("machine %d has state %s at index %d, another had %s", m.number, s.StateHash, s.AppliedIndex, known)
			}
		}
	}
}

// write leaves trace, history and logs in a folder.
func (r *run) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var trace bytes.Buffer
	for _, line := range r.trace {
		fmt.Fprintln(&trace, line)
	}
	files := map[string][]byte{"trace.txt": trace.Bytes(), "history.jsonl": encodeHistory(r.events)}
	for number, log := range r.logs {
		files[nameOf(number)+".log"] = log.Bytes()
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
