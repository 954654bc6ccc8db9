package cluster

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/queue"
)

func TestDiskMark(t *testing.T) {
	const gib = 1 << 30
	cases := []struct {
		name  string
		mark  DiskMark
		total uint64
		want  uint64
	}{
		{"bytes", DiskMark{Bytes: 5}, 100, 5},
		{"part", DiskMark{Percent: 15}, 1000, 150},
		{"both on a small disk", DiskMark{Percent: 15, Bytes: gib}, 1000, 150},
		{"both on a large disk", DiskMark{Percent: 15, Bytes: gib}, 100 * gib, gib},
		{"none", DiskMark{}, 1000, 0},
	}
	for _, c := range cases {
		if got := c.mark.bytes(c.total); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestDiskLevels(t *testing.T) {
	limits := PressureLimits{DiskRefuse: DiskMark{Bytes: 1000}, DiskResign: DiskMark{Bytes: 100}}
	cases := []struct {
		name   string
		free   uint64
		before membership.DiskLevel
		want   membership.DiskLevel
	}{
		{"enough", 1000, membership.DiskEnough, membership.DiskEnough},
		{"low", 999, membership.DiskEnough, membership.DiskLow},
		{"full", 99, membership.DiskEnough, membership.DiskFull},
		{"full, from low", 99, membership.DiskLow, membership.DiskFull},
		{"just above the mark is still low", 1050, membership.DiskLow, membership.DiskLow},
		{"a tenth above the mark is enough", 1100, membership.DiskLow, membership.DiskEnough},
		{"just above the lower mark is still full", 105, membership.DiskFull, membership.DiskFull},
		{"a tenth above the lower mark is low", 110, membership.DiskFull, membership.DiskLow},
		{"from full to enough at once", 5000, membership.DiskFull, membership.DiskEnough},
	}
	for _, c := range cases {
		if got := levelOf(environment.DiskSpace{Free: c.free, Total: 1 << 20}, limits, c.before); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestSystemDiskSpace(t *testing.T) {
	space, err := environment.SystemDiskSpace(t.TempDir())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Log("this system does not tell")
		return
	}
	if err != nil || space.Total == 0 || space.Free > space.Total {
		t.Errorf("got %+v, %v", space, err)
	}
}

// refusedSend expects a send and a publish through a node to be refused for pressure.
func (c *nodes) refusedSend(i int, name, body string) *PressureError {
	c.t.Helper()
	c.createTopic(i, "topic")
	c.refusedCommand(i, &queue.Publish{Topic: "topic", Entries: []queue.PublishEntry{{Message: "m"}}})
	return c.refusedCommand(i, &queue.SendMessages{Queue: name, Batch: true, Entries: []queue.SendEntry{entryFor(name, body)}})
}

func (c *nodes) refusedCommand(i int, cmd queue.Command) *PressureError {
	c.t.Helper()
	_, err := c.nodes[i].Submit(clustertest.Context(c.t), cmd)
	var pressure *PressureError
	if !errors.As(err, &pressure) || !errors.Is(err, fault.ErrOverloaded) || errors.Is(err, fault.ErrOutcomeUnknown) {
		c.t.Fatalf("%T on node %d was answered %v", cmd, i, err)
	}
	return pressure
}

// refusing reports whether a send through a node is refused for pressure.
func (c *nodes) refusing(i int, name, body string) bool {
	_, err := c.nodes[i].Submit(clustertest.Context(c.t),
		&queue.SendMessages{Queue: name, Entries: []queue.SendEntry{entryFor(name, body)}})
	var pressure *PressureError
	return errors.As(err, &pressure)
}

// worksButForSends executes through one node the commands that must succeed under pressure.
func (c *nodes) worksButForSends(i int, name string) {
	c.t.Helper()
	got := c.receive(i, queue.ReceiveMessages{Queue: name, MaxMessages: queue.Some(1)}, 0)
	if len(got) != 1 {
		c.t.Fatalf("received %d messages through node %d", len(got), i)
	}
	handle := got[0].Handle.String()
	c.submit(i, &queue.ChangeMessageVisibility{Queue: name,
		Entries: []queue.VisibilityEntry{{Handle: handle, VisibilityTimeout: queue.Some(60)}}})
	c.submit(i, &queue.DeleteMessages{Queue: name, Handles: []string{handle}})
	c.submit(i, &queue.SetQueueAttributes{Queue: name, Attributes: []queue.Attribute{{Name: "DelaySeconds", Value: "0"}}})
}

// At the state limit all nodes refuse sends and accept other commands. Once there is room again,
// they accept sends without anybody's help.
func TestStateLimit(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) {
		cfg.Limits.Pressure.StateBytes = 64 << 10
		cfg.Log.Bodies.Store = BodiesInMemory // those in segments do not count
	})
	c.create(0, standard)
	body := strings.Repeat("x", 4<<10)
	sent := 0
	for ; !c.refusing(sent%3, standard, body); sent++ {
		if sent > 64 {
			t.Fatal("the limit is not kept")
		}
	}
	for i := range c.nodes {
		if p := c.refusedSend(i, standard, body); !strings.Contains(p.Reason, "state-bytes-max") {
			t.Errorf("node %d: %q", i, p.Reason)
		}
		c.worksButForSends(i, standard)
		if i == 0 && c.nodes[c.leader()].pressure.refused.state.Load() == 0 {
			t.Error("nothing was counted")
		}
		// Fill the room again that the deletes made.
		for c.refusing(i, standard, body) == false {
			sent++
		}
	}
	c.submit(0, &queue.PurgeQueue{Queue: standard})
	for i := range c.nodes {
		c.send(i, standard, body)
	}
}

// TestSessionStateIsClearedUnderPressure checks that the state of a session cannot be set without
// room for it, but can be cleared, which makes room.
func TestSessionStateIsClearedUnderPressure(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) { cfg.Limits.Pressure.StateBytes = 64 << 10 })
	c.create(0, fifo)
	reply := c.submit(0, &queue.AcceptSession{Queue: fifo, SessionID: "s", SessionIDGiven: true, LockSeconds: queue.Some(600)})
	locked := reply.Result.(queue.SessionLocked)
	state := &queue.SetSessionState{
		Queue: fifo, Session: queue.SessionRef{SessionID: "s", Token: locked.Token.String()}, State: strings.Repeat("x", 80<<10),
		StateGiven: true,
	}
	c.submit(0, state)
	cleared := *state
	cleared.State, cleared.StateGiven = "", false
	for i := range c.nodes {
		c.refusedCommand(i, state)
	}
	c.submit(1, &cleared)
	for i := range c.nodes {
		c.send(i, fifo, "x")
	}
}

// disks simulates how full the disk of each node is.
type disks []*atomic.Uint64

const diskTotal = 1 << 30

// startOnDisks starts three nodes with simulated disks.
func startOnDisks(t *testing.T, change ...func(*Config)) (*nodes, disks) {
	var d disks
	c := startNodes(t, 3, func(cfg *Config) {
		free := new(atomic.Uint64)
		free.Store(diskTotal / 2)
		d = append(d, free)
		cfg.Limits.Pressure.DiskSpace = func(string) (environment.DiskSpace, error) {
			return environment.DiskSpace{Free: free.Load(), Total: diskTotal}, nil
		}
		cfg.Limits.Pressure.DiskRefuse = DiskMark{Percent: 15}
		cfg.Limits.Pressure.DiskResign = DiskMark{Percent: 5}
		for _, f := range change {
			f(cfg)
		}
	})
	return c, d
}

func TestLeaderWithoutRoomRefusesSends(t *testing.T) {
	t.Parallel()
	c, d := startOnDisks(t, unhurried)
	c.create(0, standard)
	for range 8 {
		c.send(0, standard, "m")
	}
	leader := c.leader()
	d[leader].Store(diskTotal / 10)
	c.waitFor("sends to be refused", func() bool { return c.refusing(0, standard, "more") })
	for i := range c.nodes {
		if p := c.refusedSend(i, standard, "more"); !strings.Contains(p.Reason, "disk-free-refuse") {
			t.Errorf("node %d: %q", i, p.Reason)
		}
		c.worksButForSends(i, standard)
		list := c.members(i)
		if list.Healthy || !strings.HasPrefix(list.Summary, "Sends are refused: 3 of 3 voters answer") ||
			!strings.Contains(list.Warnings[0], "accepted again from 169 MiB") {
			t.Errorf("node %d says %q, healthy %v, %q", i, list.Summary, list.Healthy, list.Warnings)
		}
	}
	if c.leader() != leader {
		t.Error("the leader gave up for less than the lower mark")
	}
	d[leader].Store(diskTotal / 2)
	c.waitFor("sends to be taken", func() bool {
		c.submit(0, &queue.AdvanceClock{}) // a command lets the leader check its disk
		return !c.refusing(0, standard, "again")
	})
}

func TestFollowersWithoutRoom(t *testing.T) {
	t.Parallel()
	c, d := startOnDisks(t, unhurried)
	c.create(0, standard)
	followers := c.followers()
	d[followers[0]].Store(diskTotal / 10)
	c.waitFor("the follower to notice", func() bool {
		c.send(0, standard, "one follower without room is no reason to refuse anything")
		return c.nodes[followers[0]].pressure.diskLevel() == membership.DiskLow
	})
	c.send(0, standard, "m")
	d[followers[1]].Store(diskTotal / 10)
	c.waitFor("sends to be refused", func() bool { return c.refusing(0, standard, "m") })
	if p := c.refusedSend(c.leader(), standard, "m"); !strings.Contains(p.Reason, "majority") {
		t.Errorf("refused as %q", p.Reason)
	}
	c.worksButForSends(0, standard)
	d[followers[0]].Store(diskTotal / 2)
	c.waitFor("sends to be taken", func() bool {
		c.submit(0, &queue.AdvanceClock{})
		return !c.refusing(0, standard, "m")
	})
}

// A leader whose disk is nearly full hands over. If all disks are, one node leads nevertheless and
// accepts the commands that make room.
func TestLeaderOnAFullDiskHandsOver(t *testing.T) {
	t.Parallel()
	c, d := startOnDisks(t)
	c.create(0, standard)
	for range 4 {
		c.send(0, standard, "m")
	}
	first := c.leader()
	d[first].Store(diskTotal / 50)
	c.waitFor("another leader", func() bool {
		c.refusing(0, standard, "traffic")
		return c.leader() != first
	})
	c.send(first, standard, "m")
	for i := range d {
		d[i].Store(diskTotal / 50)
	}
	c.waitFor("all to notice", func() bool {
		c.refusing(0, standard, "traffic")
		for _, n := range c.nodes {
			if n.pressure.diskLevel() != membership.DiskFull {
				return false
			}
		}
		return true
	})
	for i := range c.nodes {
		c.worksButForSends(i, standard)
	}
	if got := c.refusedSend(0, standard, "m"); got.Reason == "" {
		t.Error("refused without a reason")
	}
}
