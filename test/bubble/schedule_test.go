package bubble

import (
	"context"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/cluster"
)

// offsetMax bounds the error of a clock.
const offsetMax = time.Second

// schedule injects up to three faults at a time, as the seed decides, and ends them.
type schedule struct {
	*run
	ends []ending
}

// ending is the end of a fault that has begun.
type ending struct {
	at time.Time
	do func()
}

func newSchedule(r *run) *schedule { return &schedule{run: r} }

// faults lists the faults; one that is listed twice is drawn twice as often. Those that need
// several machines are not used in a cluster of one.
var faults = [...]func(*schedule){
	(*schedule).crashOne, (*schedule).crashOne, (*schedule).crashLeader, (*schedule).crashLeader, (*schedule).crashMany,
	(*schedule).restartOne, (*schedule).isolate, (*schedule).isolate, (*schedule).oneWay, (*schedule).oneWay,
	(*schedule).cutLink, (*schedule).badLinks, (*schedule).badLinks, (*schedule).hangDisk, (*schedule).slowDisk,
	(*schedule).moveClock, (*schedule).transfer, (*schedule).freeze, (*schedule).changeMembers, (*schedule).changeMembers,
}

const together = 3

// inject injects faults until the load ends.
func (s *schedule) inject(loaded context.Context) {
	s.sleep(loaded, s.between(0, 1500*time.Millisecond))
	for loaded.Err() == nil {
		if len(s.ends) < together {
			faults[s.random.IntN(len(faults))](s)
		}
		s.sleep(loaded, s.between(200*time.Millisecond, 2500*time.Millisecond))
	}
}

func (s *schedule) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.random.Int64N(int64(most-least)))
}

// until registers the end of a fault.
func (s *schedule) until(d time.Duration, do func()) {
	s.ends = append(s.ends, ending{time.Now().Add(d), do})
}

// sleep waits, ends the faults that are over, and buries nodes that ended themselves.
func (s *schedule) sleep(ctx context.Context, d time.Duration) {
	awake := time.Now().Add(d)
	for ctx.Err() == nil {
		next := awake
		slices.SortStableFunc(s.ends, func(a, b ending) int { return a.at.Compare(b.at) })
		if len(s.ends) > 0 && s.ends[0].at.Before(next) {
			next = s.ends[0].at
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
		case number := <-s.deaths:
			s.bury(s.machines[number])
		case <-timer.C:
			if !next.Before(awake) {
				timer.Stop()
				return
			}
			end := s.ends[0]
			s.ends = s.ends[1:]
			end.do()
		}
		timer.Stop()
	}
}

// bury cleans up a node that ended itself, and restarts it like a supervisor.
func (s *schedule) bury(m *machine) {
	if m.bury() && m.wanted() {
		s.until(s.between(100*time.Millisecond, 2*time.Second), func() { s.ensure(m) })
	}
}

// ensure starts a machine's node unless it runs.
func (s *schedule) ensure(m *machine) {
	if node, _ := m.present(); node == nil && m.wanted() {
		m.start(s.ctx)
	}
}

// endAll ends all faults now.
func (s *schedule) endAll() {
	for _, end := range s.ends {
		end.do()
	}
	s.ends = nil
	for i, m := range s.machines {
		m.disk.free()
		m.clock.offset.Store(0)
		for j := range s.machines {
			s.network.set(i, j, policy{})
		}
	}
	for {
		select {
		case number := <-s.deaths:
			s.machines[number].bury()
			continue
		default:
		}
		return
	}
}

// up returns the machines whose node runs.
func (s *schedule) up() []*machine {
	var running []*machine
	for _, m := range s.machines {
		if node, _ := m.present(); node != nil {
			running = append(running, m)
		}
	}
	return running
}

// pick draws a running machine: half of the time the leader.
func (s *schedule) pick() *machine {
	if s.random.IntN(2) == 0 {
		if m := s.leader(); m != nil {
			return m
		}
	}
	running := s.up()
	if len(running) == 0 {
		return nil
	}
	return running[s.random.IntN(len(running))]
}

// leader returns the machine that leads in the highest term.
func (s *schedule) leader() *machine {
	var found *machine
	term := uint64(0)
	for _, m := range s.up() {
		node, _ := m.present()
		if status := node.Status(); status.Role == "leader" && status.Term >= term {
			found, term = m, status.Term
		}
	}
	return found
}

func (s *schedule) crash(m *machine) {
	power := s.random.IntN(2) == 0
	s.note("crash", m.number, "power %v", power)
	m.crash(power)
	s.until(s.between(0, 4*time.Second), func() { s.ensure(m) })
}

func (s *schedule) crashOne() {
	if m := s.pick(); m != nil {
		s.crash(m)
	}
}

func (s *schedule) crashLeader() {
	if m := s.leader(); m != nil {
		s.crash(m)
	}
}

// crashMany crashes a majority or all at the same moment.
func (s *schedule) crashMany() {
	running := s.up()
	s.random.Shuffle(len(running), func(i, j int) { running[i], running[j] = running[j], running[i] })
	n := len(s.machines)/2 + 1
	if s.random.IntN(2) == 0 {
		n = len(running)
	}
	for _, m := range running[:min(n, len(running))] {
		s.crash(m)
	}
}

// restartOne stops a node cleanly.
func (s *schedule) restartOne() {
	m := s.pick()
	if m == nil {
		return
	}
	s.note("stop", m.number, "")
	ctx, cancel := context.WithTimeout(s.ctx, 3*time.Second)
	defer cancel()
	m.stop(ctx)
	s.until(s.between(0, 2*time.Second), func() { s.ensure(m) })
}

// link sets the policy of some directions and resets it later.
func (s *schedule) link(pairs [][2]int, p policy, d time.Duration) {
	for _, pair := range pairs {
		s.network.set(pair[0], pair[1], p)
	}
	s.until(d, func() {
		s.note("mend", -1, "%v", pairs)
		for _, pair := range pairs {
			s.network.set(pair[0], pair[1], policy{})
		}
	})
}

func (s *schedule) others(m *machine) []int {
	var numbers []int
	for i := range s.machines {
		if i != m.number {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func (s *schedule) isolate() {
	m := s.pick()
	if m == nil {
		return
	}
	var pairs [][2]int
	for _, i := range s.others(m) {
		pairs = append(pairs, [2]int{m.number, i}, [2]int{i, m.number})
	}
	s.note("isolate", m.number, "")
	s.link(pairs, policy{cut: true}, s.between(200*time.Millisecond, 6*time.Second))
}

// oneWay makes a machine either only receive or only send.
func (s *schedule) oneWay() {
	m := s.pick()
	if m == nil {
		return
	}
	deaf := s.random.IntN(2) == 0
	var pairs [][2]int
	for _, i := range s.others(m) {
		if deaf {
			pairs = append(pairs, [2]int{i, m.number})
		} else {
			pairs = append(pairs, [2]int{m.number, i})
		}
	}
	s.note("one way", m.number, "deaf %v", deaf)
	s.link(pairs, policy{cut: true}, s.between(200*time.Millisecond, 6*time.Second))
}

// cutLink disconnects two machines that others still reach.
func (s *schedule) cutLink() {
	m := s.pick()
	if m == nil || len(s.machines) < 2 {
		return
	}
	others := s.others(m)
	i := others[s.random.IntN(len(others))]
	s.note("cut link", m.number, "to %s", nameOf(i))
	s.link([][2]int{{m.number, i}, {i, m.number}}, policy{cut: true}, s.between(200*time.Millisecond, 8*time.Second))
}

// badLinks delays, drops, duplicates and reorders packets.
func (s *schedule) badLinks() {
	p := policy{
		delay: s.between(0, 100*time.Millisecond), jitter: s.between(0, 200*time.Millisecond),
		loss: s.random.Float64() * 0.4, duplicate: s.random.Float64() * 0.3,
	}
	var pairs [][2]int
	for i := range s.machines {
		for j := range s.machines {
			if i != j && s.random.IntN(2) == 0 {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	s.note("bad links", -1, "%+v %v", p, pairs)
	s.link(pairs, p, s.between(time.Second, 8*time.Second))
}

// hangDisk stops writes, sometimes for longer than a node tolerates.
func (s *schedule) hangDisk() {
	m := s.pick()
	if m == nil {
		return
	}
	d := s.between(100*time.Millisecond, 6*time.Second)
	s.note("hang disk", m.number, "%v", d)
	m.disk.hang()
	s.until(d, m.disk.free)
}

func (s *schedule) slowDisk() {
	m := s.pick()
	if m == nil {
		return
	}
	by := s.between(5*time.Millisecond, 150*time.Millisecond)
	s.note("slow disk", m.number, "%v", by)
	m.disk.slowDown(by)
	s.until(s.between(time.Second, 6*time.Second), m.disk.free)
}

// moveClock sets a clock wrong.
func (s *schedule) moveClock() {
	m := s.pick()
	if m == nil {
		return
	}
	by := s.between(-offsetMax, offsetMax)
	s.note("clock", m.number, "%v", by)
	m.clock.offset.Store(int64(by))
	s.until(s.between(time.Second, 8*time.Second), func() { m.clock.offset.Store(0) })
}

// transfer hands leadership over.
func (s *schedule) transfer() {
	m := s.leader()
	if m == nil {
		return
	}
	node, _ := m.present()
	s.note("transfer", m.number, "")
	s.winding.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, 3*time.Second)
		defer cancel()
		_ = node.TransferLeadership(ctx) // it may be refused, or the leader may die
	})
}

// freeze stops the network and the disk of a machine, which in a bubble is the closest to pausing
// its process.
func (s *schedule) freeze() {
	m := s.pick()
	if m == nil {
		return
	}
	d := s.between(300*time.Millisecond, 3500*time.Millisecond)
	s.note("freeze", m.number, "%v", d)
	var pairs [][2]int
	for _, i := range s.others(m) {
		pairs = append(pairs, [2]int{m.number, i}, [2]int{i, m.number})
	}
	m.disk.hang()
	s.link(pairs, policy{cut: true}, d)
	s.until(d, m.disk.free)
}

// changeMembers starts the spare machine, which joins by itself, and later removes an initial
// member, whose vote the spare then gets.
func (s *schedule) changeMembers() {
	if !s.plan.spare {
		return
	}
	spare := s.machines[s.plan.initialMembers]
	if !spare.wanted() {
		s.note("join", spare.number, "")
		spare.mu.Lock()
		spare.joined = true
		spare.mu.Unlock()
		spare.start(s.ctx)
		return
	}
	victim := s.machines[s.random.IntN(s.plan.initialMembers)]
	leader := s.leader()
	if leader == nil || s.plan.initialMembers == 1 || s.anyRemoved() {
		return
	}
	node, _ := leader.present()
	s.note("remove", victim.number, "by %s", nameOf(leader.number))
	ctx, cancel := context.WithTimeout(s.ctx, 3*time.Second)
	defer cancel()
	err := node.RemoveMember(ctx, cluster.Change{Node: victim.id()})
	s.note("removed", victim.number, "%v", err)
}

func (s *schedule) anyRemoved() bool {
	for _, m := range s.machines {
		m.mu.Lock()
		removed := m.removed
		m.mu.Unlock()
		if removed {
			return true
		}
	}
	return false
}
