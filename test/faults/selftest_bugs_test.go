//go:build faults

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// plantedBugs is the table of faults.md 11. "In the server" means an edit of test/faults/plants
// that is active if SERIATIM_PLANT has this number.
var plantedBugs = []plantedBug{
	{
		number: 1, text: "log store with NoSync", how: "server, with the log store boltdb; disks of their own lose power",
		must:  []string{"I1 loss"},
		disks: true, args: []string{"--log-store", "boltdb"}, script: playPowerCut,
	},
	{number: 2, text: "answer before commit", how: "server: sends, 50 ms after they were proposed", must: []string{"I1 loss"},
		script: playUncommitted},
	{number: 3, text: "dedup records left out of the snapshot", how: "server, and out of the state hash", must: []string{"I3 duplicates"},
		script: playSnapshotDedup},
	{number: 4, text: "dedup window measured with the local clock in apply", how: "server; a follower's clock is 10 minutes ahead",
		must: []string{"I13 replicas"}, script: playLocalClock},
	{number: 5, text: "dedup record dropped when the message is deleted", how: "server", must: []string{"I3 duplicates"}, nodes: 1,
		script: playDedupAfterDelete},
	{number: 6, text: "duplicate extends the window", how: "server", must: []string{"I3 duplicates"}, nodes: 1, script: playExtendedWindow},
	{number: 7, text: "attempt record not replicated, kept in the leader's memory", how: "server, and out of the state hash",
		must: []string{"I6 attempts"}, script: playAttemptAfterFailover},
	{number: 8, text: "new receipt handles on replay", how: "server", must: []string{"I6 attempts"}, nodes: 1, script: playReplay},
	{number: 9, text: "receive served from a stale node without the log",
		how: "server: an empty answer, of any node; followers apply late (failpoint)", must: []string{"I11 log W3"},
		script: playStaleReceive},
	{number: 10, text: "group lock released by any delete in the group", how: "server", must: []string{"I5 overtaking"}, nodes: 1,
		script: playGroupLock},
	{number: 11, text: "redelivered message goes to the tail of its group", how: "server", must: []string{"I4 overtaking"}, nodes: 1,
		script: playTail},
	{number: 12, text: "delete by MessageId instead of handle", how: "server", must: []string{"I7 loss"}, nodes: 1,
		script: playStaleDelete},
	{number: 13, text: "delete not in the log on the follower", how: "server: followers skip deletes",
		must: []string{"I8 deletes", "I13 replicas"}, script: playDelete},
	{number: 14, text: "sequence counter not in the snapshot", how: "server, and out of the state hash", must: []string{"I9 identity"},
		nodes: 1, script: playSnapshotSequence},
	{number: 15, text: "map iteration order decides which group is served", how: "server", must: []string{"I13 replicas"},
		script: playManyGroups},
	{number: 16, text: "forward retry proposes twice", how: "server: forwarded receives", must: []string{"I12 log W2"},
		script: playForwarded},
	{
		number: 17, text: "leadership lost answered as definite failure",
		how:  "server; the leader ends between apply and answer (failpoint)",
		must: []string{"I12 log W4"}, script: playLostLeader,
	},
	{number: 18, text: "log time = leader clock without monotonic rule", how: "server; the clock goes back 5 s",
		must: []string{"I13 log W6", "I16 time"}, nodes: 1, script: playClockBack},
	{number: 19, text: "disk error ignored, node goes on", how: "server; every append fails (failpoint)",
		must: []string{"I17 failures", "I1 loss"}, script: playDiskError},
	{
		number: 20, text: "no deadline on the log store (disk hang)", how: "server; an append hangs (failpoint)",
		must: []string{"I14 service"},
		args: []string{"--disk-deadline", "3s"}, script: playDiskHang,
	},
	{number: 21, text: "empty disk rejoins under its old id and votes",
		how:  "server: a node id without random digits, no question about the cluster, and no end at another history",
		must: []string{"I1 loss"}, script: playEmptyDisk},
	{number: 22, text: "entry CRC not checked at start", how: "server; a bit of the log is flipped while it is stopped",
		must: []string{"I2 content"}, nodes: 1, script: playBitFlip},
	{number: 23, text: "purge forgets in-flight messages", how: "server", must: []string{"I8 deletes"}, nodes: 1, script: playPurge},
	{number: 24, text: "snapshot restore swaps state before the checksum is verified", how: "state machine alone: a server ends after it",
		must: []string{"I17 states"}, unit: playDamagedSnapshot},
	{number: 25, text: "long poll answer lost when the client went away", how: "server: long polls lose their attempt id",
		must: []string{"I6 attempts"}, nodes: 1, script: playLongPoll},
	{number: 26, text: "fan-out ends at a queue whose filter refuses", how: "server", must: []string{"I18 fan-out"}, nodes: 1,
		script: playFanOut},
	{number: 27, text: "topic forgets the id of what it accepted", how: "server; the queues still know it", must: []string{"I18 fan-out"},
		nodes: 1, script: playFanOut},
	{number: 28, text: "filter of a subscription is not asked", how: "server", must: []string{"I18 fan-out"}, nodes: 1, script: playFanOut},
	{number: 29, text: "session is accepted though it is locked", how: "server", must: []string{"I19 sessions"}, nodes: 1,
		script: playTwoHolders},
	{number: 30, text: "settlement under a lost lock is answered as done", how: "server", must: []string{"I8 deletes", "I19 sessions"},
		nodes: 1, script: playLostLock},
	{number: 31, text: "state of a session goes with its lock", how: "server", must: []string{"I19 sessions"}, nodes: 1,
		script: playKeptState},
	{number: 32, text: "cancel of a message whose time has come is answered as done", how: "server", must: []string{"I20 schedules"},
		nodes: 1, script: playLateCancel},
	{number: 33, text: "scheduled message comes a second early", how: "server", must: []string{"I20 schedules"}, nodes: 1,
		script: playSchedule},
	{number: 34, text: "send with the id of a scheduled message is another message", how: "server", must: []string{"I20 schedules"},
		nodes: 1, script: playScheduleTwin},
	{number: 38, text: "leader counts an entry as on its own disk before it is written",
		how: "server: entries of clients, 5 s before they are written", must: []string{"I1 loss"}, script: playUnwritten},
	{
		number: 39, text: "leader treats an entry that it sent early as confirmed",
		how:  "server; the follower hangs as it writes (failpoint)",
		must: []string{"I1 loss"}, args: []string{"--disk-deadline", "60s"}, script: playUnanswered,
	},
}

var errRefused = errors.New("the script's call was not done")

// put repeats a send until it succeeds.
func (p *plot) put(n *harness.Node, queue, group, dedup string) error {
	body := p.c.body()
	if dedup == "" {
		dedup = keyOf(body)
	}
	for range 30 {
		if p.c.send(p.ctx, n, queue, group, dedup, body) {
			return nil
		}
		if !pause(p.ctx, 100*time.Millisecond) {
			break
		}
	}
	return fmt.Errorf("%w: send to %s through %s", errRefused, queue, n.Name)
}

// take receives until there is a message, for a few seconds.
func (p *plot) take(n *harness.Node, queue string, w wanted) ([]history.Message, error) {
	for range 30 {
		messages, result := p.c.receive(p.ctx, n, queue, w)
		if len(messages) > 0 {
			return messages, nil
		}
		if result == history.OK && w.attempt != "" {
			return nil, nil
		}
		if !pause(p.ctx, 100*time.Millisecond) {
			break
		}
	}
	return nil, fmt.Errorf("%w: receive from %s through %s", errRefused, queue, n.Name)
}

func seconds(n int64) *int64 {
	us := n * 1e6
	return &us
}

func (p *plot) first() *harness.Node { return p.cluster.Nodes[0] }

// roles returns the leader and the other nodes.
func (p *plot) roles() (leader *harness.Node, others []*harness.Node, err error) {
	leader, err = p.cluster.WaitLeader(p.ctx, 30*time.Second)
	if err != nil {
		return nil, nil, err
	}
	return leader, p.cluster.Followers(leader), nil
}

func playPowerCut(p *plot) error {
	for i := range 60 {
		if err := p.put(p.cluster.Nodes[i%3], "q.fifo", "g", ""); err != nil {
			return err
		}
		if i > 10 {
			continue
		}
		// The writes of the first start are on disk. No later write is synced.
		for _, d := range p.disks.Disks {
			if err := exec.Command("sync", "-f", d.Path).Run(); err != nil {
				return err
			}
		}
	}
	var victims []disk.Powered
	for _, n := range p.cluster.Nodes {
		victims = append(victims, disk.Powered{Disk: p.disks.Of(n.DataDir), Kill: n.Kill})
	}
	p.hand.touch(history.TouchPowerCut, p.cluster.Nodes...)
	if _, err := disk.PowerCut(victims...); err != nil {
		return err
	}
	return p.restart()
}

// restart starts all nodes and waits for them.
func (p *plot) restart() error {
	for _, n := range p.cluster.Nodes {
		if !n.Running() {
			if err := n.Start(); err != nil {
				return err
			}
		}
	}
	return p.cluster.WaitReady(p.ctx, time.Minute)
}

func playUncommitted(p *plot) error {
	leader, others, err := p.roles()
	if err != nil {
		return err
	}
	p.hand.touch(history.TouchPause, others...)
	for _, n := range others {
		if err := n.Pause(); err != nil {
			return err
		}
	}
	for range 3 {
		p.c.send(p.ctx, leader, "q.fifo", "g", p.c.attempt(), p.c.body())
	}
	if err := leader.Kill(); err != nil {
		return err
	}
	for _, n := range others {
		if err := n.Resume(); err != nil {
			return err
		}
	}
	if _, err := p.cluster.Part(others...).WaitLeader(p.ctx, 30*time.Second); err != nil {
		return err
	}
	if err := p.put(others[0], "q.fifo", "g", ""); err != nil {
		return err
	}
	return p.restart()
}

// compact makes every node take a snapshot and discard the log before it, by sends to another
// queue. Then it kills and restarts all of them.
func (p *plot) compact() error {
	status, err := p.first().Status(p.ctx)
	if err != nil {
		return err
	}
	c := p.newClient(2, "filler")
	defer c.close()
	filler := "filler.fifo"
	if err := c.create(p.ctx, filler, attributesOf(p.rules, filler)); err != nil {
		return err
	}
	p.queues = append(p.queues, filler)
	past := func() bool {
		for _, n := range p.cluster.Nodes {
			if s, err := n.Status(p.ctx); err != nil || s.LastSnapshotIndex <= status.AppliedIndex {
				return false
			}
		}
		return true
	}
	for i := 0; !past(); i++ {
		if i == 100 {
			return errors.New("no snapshot was made")
		}
		body := c.bodyOf(40_000)
		c.counter++
		c.send(p.ctx, c.any(), filler, "g", keyOf(body), body)
	}
	for _, n := range p.cluster.Nodes {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	return p.restart()
}

func playSnapshotDedup(p *plot) error {
	if err := p.put(p.first(), "long.fifo", "g", "key"); err != nil {
		return err
	}
	if err := p.compact(); err != nil {
		return err
	}
	return p.put(p.first(), "long.fifo", "g", "key")
}

func playSnapshotSequence(p *plot) error {
	for range 5 {
		if err := p.put(p.first(), "q.fifo", "g", ""); err != nil {
			return err
		}
	}
	messages, err := p.take(p.first(), "q.fifo", wanted{most: 10})
	if err != nil {
		return err
	}
	for _, m := range messages {
		p.c.remove(p.ctx, p.first(), "q.fifo", m.Handle, m.ID)
	}
	pause(p.ctx, 5*time.Second) // until the window of the ids is over
	p.c.receive(p.ctx, p.first(), "q.fifo", wanted{most: 1})
	if err := p.put(p.first(), "q.fifo", "g", ""); err != nil { // expired ids are forgotten here
		return err
	}
	if messages, err = p.take(p.first(), "q.fifo", wanted{most: 1}); err != nil {
		return err
	}
	p.c.remove(p.ctx, p.first(), "q.fifo", messages[0].Handle, messages[0].ID)
	pause(p.ctx, 12*time.Second) // until the next scheduled time of forgetting
	if err := p.compact(); err != nil {
		return err
	}
	return p.put(p.first(), "q.fifo", "g", "")
}

func playLocalClock(p *plot) error {
	leader, others, err := p.roles()
	if err != nil {
		return err
	}
	if err := p.put(leader, "long.fifo", "g", "key"); err != nil {
		return err
	}
	if err := p.moveClock(others[0], 10*time.Minute); err != nil {
		return err
	}
	return p.put(leader, "long.fifo", "g", "key")
}

// moveClock sets a node's clock wrong until the node ends.
func (p *plot) moveClock(n *harness.Node, by time.Duration) error {
	p.hand.touch(history.TouchClock, n)
	p.hand.did[len(p.hand.did)-1].Count = by.Milliseconds()
	return p.admin(p.ctx, n, "PUT", "/v1/clock", fmt.Sprintf(`{"offsetMs":%d}`, by.Milliseconds()))
}

func playDedupAfterDelete(p *plot) error {
	n, key := p.first(), p.c.attempt()
	if err := p.put(n, "long.fifo", "g5", key); err != nil {
		return err
	}
	messages, err := p.take(n, "long.fifo", wanted{most: 1})
	if err != nil {
		return err
	}
	p.c.remove(p.ctx, n, "long.fifo", messages[0].Handle, messages[0].ID)
	return p.put(n, "long.fifo", "g5", key)
}

func playExtendedWindow(p *plot) error {
	for i := range 4 {
		if i > 0 {
			pause(p.ctx, 2500*time.Millisecond)
		}
		if err := p.put(p.first(), "q.fifo", "g", "key"); err != nil {
			return err
		}
	}
	return nil
}

func playAttemptAfterFailover(p *plot) error {
	leader, others, err := p.roles()
	if err != nil {
		return err
	}
	for range 3 {
		if err := p.put(leader, "q.fifo", "g", ""); err != nil {
			return err
		}
	}
	w := wanted{most: 3, attempt: p.c.attempt(), timeout: seconds(60)}
	if _, err := p.take(leader, "q.fifo", w); err != nil {
		return err
	}
	if err := p.spread(leader); err != nil {
		return err
	}
	if err := leader.Kill(); err != nil {
		return err
	}
	if _, err := p.cluster.Part(others...).WaitLeader(p.ctx, 30*time.Second); err != nil {
		return err
	}
	p.undrained["q.fifo"] = true
	for range 20 {
		if _, result := p.c.receive(p.ctx, others[0], "q.fifo", w); result == history.OK {
			break
		}
		pause(p.ctx, 200*time.Millisecond)
	}
	return p.restart()
}

func playReplay(p *plot) error {
	n := p.first()
	for range 2 {
		if err := p.put(n, "q.fifo", "g8", ""); err != nil {
			return err
		}
	}
	w := wanted{most: 2, attempt: p.c.attempt()}
	if _, err := p.take(n, "q.fifo", w); err != nil {
		return err
	}
	p.c.receive(p.ctx, n, "q.fifo", w)
	return nil
}

func playStaleReceive(p *plot) error {
	leader, others, err := p.roles()
	if err != nil {
		return err
	}
	for _, n := range others { // they learn late of commits
		if err := p.admin(p.ctx, n, "PUT", "/v1/failpoints/apply-before", "sleep(300ms)"); err != nil {
			return err
		}
	}
	for i := range 6 {
		if err := p.put(leader, "q.fifo", fmt.Sprint("g", i), ""); err != nil {
			return err
		}
		p.c.receive(p.ctx, others[i%2], "q.fifo", wanted{most: 10, timeout: seconds(60)})
	}
	p.undrained["q.fifo"] = true
	return nil
}

func playGroupLock(p *plot) error {
	n := p.first()
	for range 3 {
		if err := p.put(n, "q.fifo", "g10", ""); err != nil {
			return err
		}
	}
	messages, err := p.take(n, "q.fifo", wanted{most: 2})
	if err != nil || len(messages) < 2 {
		return errors.Join(errRefused, err)
	}
	p.c.remove(p.ctx, n, "q.fifo", messages[1].Handle, messages[1].ID)
	p.c.receive(p.ctx, n, "q.fifo", wanted{most: 2})
	return nil
}

func playTail(p *plot) error {
	n := p.first()
	for range 3 {
		if err := p.put(n, "q.fifo", "g11", ""); err != nil {
			return err
		}
	}
	if _, err := p.take(n, "q.fifo", wanted{most: 1, timeout: seconds(1)}); err != nil {
		return err
	}
	pause(p.ctx, 2500*time.Millisecond)
	_, err := p.take(n, "q.fifo", wanted{most: 1})
	return err
}

func playStaleDelete(p *plot) error {
	n := p.first()
	if err := p.put(n, "q.fifo", "g12", ""); err != nil {
		return err
	}
	before, err := p.take(n, "q.fifo", wanted{most: 1, timeout: seconds(1)})
	if err != nil {
		return err
	}
	pause(p.ctx, 2*time.Second)
	if _, err := p.take(n, "q.fifo", wanted{most: 1}); err != nil {
		return err
	}
	p.c.remove(p.ctx, n, "q.fifo", before[0].Handle, before[0].ID)
	return nil
}

// spread makes all nodes apply the entries so far, while this node leads: followers learn of a
// commit with the next entry. Meanwhile the observer compares their states.
func (p *plot) spread(leader *harness.Node) error {
	if err := p.put(leader, "long.fifo", "g", ""); err != nil {
		return err
	}
	pause(p.ctx, time.Second)
	return nil
}

// playDelete deletes a message, and makes a node the leader that may not have applied this.
func playDelete(p *plot) error {
	leader, others, err := p.roles()
	if err != nil {
		return err
	}
	if err := p.put(leader, "q.fifo", "g", ""); err != nil {
		return err
	}
	messages, err := p.take(leader, "q.fifo", wanted{most: 1})
	if err != nil {
		return err
	}
	if !p.c.remove(p.ctx, leader, "q.fifo", messages[0].Handle, messages[0].ID) {
		return errRefused
	}
	if err := p.spread(leader); err != nil {
		return err
	}
	if err := leader.Kill(); err != nil {
		return err
	}
	if _, err := p.cluster.Part(others...).WaitLeader(p.ctx, 30*time.Second); err != nil {
		return err
	}
	pause(p.ctx, time.Duration(p.rules.Visibility)*time.Microsecond+time.Second)
	for range 5 {
		p.c.receive(p.ctx, others[0], "q.fifo", wanted{most: 1})
		pause(p.ctx, 200*time.Millisecond)
	}
	return p.restart()
}

func playManyGroups(p *plot) error {
	n := p.first()
	for i := range 12 {
		if err := p.put(n, "q.fifo", fmt.Sprint("g", i), ""); err != nil {
			return err
		}
	}
	for range 3 {
		if _, err := p.take(n, "q.fifo", wanted{most: 3}); err != nil {
			return err
		}
	}
	return nil
}

func playForwarded(p *plot) error {
	_, others, err := p.roles()
	if err != nil {
		return err
	}
	for i := range 4 {
		if err := p.put(others[0], "q.fifo", fmt.Sprint("g", i), ""); err != nil {
			return err
		}
	}
	_, err = p.take(others[0], "q.fifo", wanted{most: 1})
	return err
}

func playLostLeader(p *plot) error {
	for range 3 {
		leader, others, err := p.roles()
		if err != nil {
			return err
		}
		p.hand.touch(history.TouchFailpoint, leader)
		if err := p.admin(p.ctx, leader, "PUT", "/v1/failpoints/answer", "exit("+history.CrashCode+")"); err != nil {
			return err
		}
		p.c.send(p.ctx, others[0], "q.fifo", "g", p.c.attempt(), p.c.body())
		if _, err := leader.WaitExit(10 * time.Second); err != nil {
			return err
		}
		if err := p.restart(); err != nil {
			return err
		}
	}
	return nil
}

func playClockBack(p *plot) error {
	n := p.first()
	if err := p.put(n, "q.fifo", "g", ""); err != nil {
		return err
	}
	if err := p.moveClock(n, -5*time.Second); err != nil {
		return err
	}
	return p.put(n, "q.fifo", "g", "")
}

// playDiskError makes the disks of all nodes fail. Each node that gets an error must end.
func playDiskError(p *plot) error {
	leader, _, err := p.roles()
	if err != nil {
		return err
	}
	p.hand.touch(history.TouchError, p.cluster.Nodes...)
	for _, n := range p.cluster.Nodes {
		if err := p.admin(p.ctx, n, "PUT", "/v1/failpoints/store-logs-before", "error(input/output error)"); err != nil {
			return err
		}
	}
	for range 3 {
		p.c.send(p.ctx, leader, "q.fifo", "g", p.c.attempt(), p.c.body())
	}
	for _, n := range p.cluster.Nodes {
		hits, err := n.Get(p.ctx, "/v1/failpoints/store-logs-before")
		if err == nil && strings.TrimSpace(string(hits)) != "0" {
			p.observe(history.ErrorMet, n.Name, 1)
		}
	}
	for _, n := range p.cluster.Nodes {
		// A node that got no error continues, and is killed here. An error means that it still
		// runs.
		_, _ = n.WaitExit(5 * time.Second)
		if err := n.Kill(); err != nil {
			return err
		}
	}
	return p.restart()
}

func playDiskHang(p *plot) error {
	leader, others, err := p.roles()
	if err != nil {
		return err
	}
	p.hand.touch(history.TouchFailpoint, leader)
	if err := p.admin(p.ctx, leader, "PUT", "/v1/failpoints/store-logs-before", "hang"); err != nil {
		return err
	}
	p.demand(others[0])
	// It ends after its deadline, or never. The checkers judge this.
	if _, err := leader.WaitExit(10 * time.Second); err == nil {
		return p.restart()
	}
	return p.admin(p.ctx, leader, "PUT", "/v1/failpoints/store-logs-before", "off")
}

func playEmptyDisk(p *plot) error {
	leader, others, err := p.roles()
	if err != nil {
		return err
	}
	away, voter := others[0], others[1]
	if err := away.Kill(); err != nil {
		return err
	}
	for range 3 {
		if err := p.put(leader, "q.fifo", "g", ""); err != nil {
			return err
		}
	}
	if err := errors.Join(leader.Kill(), voter.Kill()); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(voter.DataDir), os.MkdirAll(voter.DataDir, 0o700)); err != nil {
		return err
	}
	if err := errors.Join(away.Start(), voter.Start()); err != nil {
		return err
	}
	// No node may lead, so there is no event to wait for. If the bug did harm, this shows when the
	// node with all entries is back.
	_, _ = p.cluster.Part(away, voter).WaitLeader(p.ctx, 10*time.Second)
	if err := leader.Start(); err != nil {
		return err
	}
	if err := p.cluster.Part(leader, away).WaitReady(p.ctx, time.Minute); err != nil {
		return err
	}
	p.gone = voter
	return voter.Kill()
}

// playUnwritten kills the leader and the only follower with entries that are on no other disk, and
// continues without this follower.
func playUnwritten(p *plot) error {
	leader, others, err := p.roles()
	if err != nil {
		return err
	}
	away, with := others[0], others[1]
	if err := away.Kill(); err != nil {
		return err
	}
	for range 3 {
		if err := p.put(leader, "q.fifo", "g", ""); err != nil {
			return err
		}
	}
	if err := errors.Join(leader.Kill(), with.Kill()); err != nil {
		return err
	}
	if err := errors.Join(away.Start(), leader.Start()); err != nil {
		return err
	}
	p.gone = with
	return p.cluster.Part(leader, away).WaitReady(p.ctx, time.Minute)
}

// playUnanswered sends to a leader whose only follower hangs, and continues without the leader. The
// checkers judge whether the sends were acknowledged.
func playUnanswered(p *plot) error {
	leader, others, err := p.roles()
	if err != nil {
		return err
	}
	away, with := others[0], others[1]
	if err := away.Kill(); err != nil {
		return err
	}
	if err := p.put(leader, "q.fifo", "g", ""); err != nil {
		return err
	}
	p.hand.touch(history.TouchFailpoint, with)
	if err := p.admin(p.ctx, with, "PUT", "/v1/failpoints/store-logs-before", "hang"); err != nil {
		return err
	}
	for range 2 {
		body := p.c.body()
		p.c.send(p.ctx, leader, "q.fifo", "g", keyOf(body), body)
	}
	if err := errors.Join(leader.Kill(), with.Kill()); err != nil {
		return err
	}
	if err := errors.Join(away.Start(), with.Start()); err != nil {
		return err
	}
	p.gone = leader
	return p.cluster.Part(with, away).WaitReady(p.ctx, time.Minute)
}

func playBitFlip(p *plot) error {
	n := p.first()
	body := p.c.bodyOf(400)
	p.c.counter++
	if !p.c.send(p.ctx, n, "q.fifo", "g", keyOf(body), body) {
		return errRefused
	}
	for range 5 {
		if err := p.put(n, "q.fifo", "g", ""); err != nil {
			return err
		}
	}
	if err := n.Kill(); err != nil {
		return err
	}
	p.hand.touch(history.TouchFlip, n)
	sound, err := flipIn(n, "", body)
	if err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return err
	}
	if n.WaitReady(p.ctx, time.Minute) == nil {
		return nil
	}
	// It must refuse to start, and then gets its undamaged files back.
	if _, err := n.WaitExit(10 * time.Second); err != nil {
		return err
	}
	for file, content := range sound {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	return p.restart()
}

func playPurge(p *plot) error {
	n := p.first()
	if err := p.put(n, "q.fifo", "g23", ""); err != nil {
		return err
	}
	if _, err := p.take(n, "q.fifo", wanted{most: 1, timeout: seconds(2)}); err != nil {
		return err
	}
	if !p.c.record(p.ctx, n, "PurgeQueue", map[string]any{"QueueUrl": p.c.url("q.fifo")},
		history.Event{Action: history.Purge, Queue: "q.fifo"}) {
		return errRefused
	}
	pause(p.ctx, 3*time.Second)
	p.c.receive(p.ctx, n, "q.fifo", wanted{most: 10})
	return nil
}

func playLongPoll(p *plot) error {
	n := p.first()
	w := wanted{most: 1, attempt: p.c.attempt(), wait: 1, timeout: seconds(30)}
	p.undrained["q.fifo"] = true
	var polling sync.WaitGroup
	waiter := p.newClient(3, "waiter")
	defer waiter.close()
	polling.Go(func() { waiter.receive(p.ctx, n, "q.fifo", w) })
	pause(p.ctx, 400*time.Millisecond)
	err := p.put(n, "q.fifo", "g", "")
	polling.Wait()
	w.wait = 0
	p.c.receive(p.ctx, n, "q.fifo", w)
	return err
}
