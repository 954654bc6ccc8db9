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
	{number: 26, text: "fan-out ends at a queue whose filter refuses", how: "server", must: []string{"I13 log W1", "I2 log W2"}, nodes: 1,
		script: playFanOut},
	{number: 27, text: "topic forgets the id of what it accepted", how: "server; the queues still know it", must: []string{"I3 log W2"},
		nodes: 1, script: playFanOut},
	{number: 28, text: "filter of a subscription is not asked", how: "server", must: []string{"I2 log W2"}, nodes: 1, script: playFanOut},
	{number: 29, text: "session is accepted though it is locked", how: "server", must: []string{"I11 log W2"}, nodes: 1,
		script: playTwoHolders},
	{number: 30, text: "settlement under a lost lock is answered as done", how: "server", must: []string{"I7 log W2"},
		nodes: 1, script: playLostLock},
	{number: 31, text: "state of a session goes with its lock", how: "server", must: []string{"I19 log W2"}, nodes: 1,
		script: playKeptState},
	{number: 32, text: "cancel of a message whose time has come is answered as done", how: "server", must: []string{"I7 log W2"},
		nodes: 1, script: playLateCancel},
	{number: 33, text: "scheduled message comes a second early", how: "server", must: []string{"I9 log W2"}, nodes: 1,
		script: playSchedule},
	{number: 34, text: "send with the id of a scheduled message is another message", how: "server", must: []string{"I3 log W2"},
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

// failed ends a script at the step that failed.
type failed struct{ error }

// must ends the script with an error.
func (p *plot) must(err error) {
	if err != nil {
		panic(failed{err})
	}
}

// must is plot.must for a call that has a result.
func must[T any](result T, err error) T {
	(*plot)(nil).must(err)
	return result
}

// play plays a script to its end, or to its first step that fails.
func (p *plot) play(script func(*plot)) (err error) {
	defer func() {
		reason := recover()
		step, ok := reason.(failed)
		if reason != nil && !ok {
			panic(reason)
		}
		err = step.error
	}()
	script(p)
	return nil
}

// put repeats a send until it succeeds.
func (p *plot) put(n *harness.Node, queue, group, dedup string) {
	body := p.c.body()
	if dedup == "" {
		dedup = keyOf(body)
	}
	for range 30 {
		if p.c.send(p.ctx, n, queue, group, dedup, body) {
			return
		}
		if !pause(p.ctx, 100*time.Millisecond) {
			break
		}
	}
	p.must(fmt.Errorf("%w: send to %s through %s", errRefused, queue, n.Name))
}

// take receives until there is a message, for a few seconds.
func (p *plot) take(n *harness.Node, queue string, w wanted) []history.Message {
	for range 30 {
		messages, result := p.c.receive(p.ctx, n, queue, w)
		if len(messages) > 0 {
			return messages
		}
		if result == history.OK && w.attempt != "" {
			return nil
		}
		if !pause(p.ctx, 100*time.Millisecond) {
			break
		}
	}
	p.must(fmt.Errorf("%w: receive from %s through %s", errRefused, queue, n.Name))
	return nil
}

func seconds(n int64) *int64 {
	us := n * 1e6
	return &us
}

func (p *plot) first() *harness.Node { return p.cluster.Nodes[0] }

// roles returns the leader and the other nodes.
func (p *plot) roles() (leader *harness.Node, others []*harness.Node) {
	leader = must(p.cluster.WaitLeader(p.ctx, 30*time.Second))
	return leader, p.cluster.Followers(leader)
}

func playPowerCut(p *plot) {
	for i := range 60 {
		p.put(p.cluster.Nodes[i%3], "q.fifo", "g", "")
		if i > 10 {
			continue
		}
		// The writes of the first start are on disk. No later write is synced.
		for _, d := range p.disks.Disks {
			p.must(exec.Command("sync", "-f", d.Path).Run())
		}
	}
	var victims []disk.Powered
	for _, n := range p.cluster.Nodes {
		victims = append(victims, disk.Powered{Disk: p.disks.Of(n.DataDir), Kill: n.Kill})
	}
	p.hand.touch(history.TouchPowerCut, p.cluster.Nodes...)
	must(disk.PowerCut(victims...))
	p.must(p.restart())
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

func playUncommitted(p *plot) {
	leader, others := p.roles()
	p.hand.touch(history.TouchPause, others...)
	for _, n := range others {
		p.must(n.Pause())
	}
	for range 3 {
		p.c.send(p.ctx, leader, "q.fifo", "g", p.c.attempt(), p.c.body())
	}
	p.must(leader.Kill())
	for _, n := range others {
		p.must(n.Resume())
	}
	must(p.cluster.Part(others...).WaitLeader(p.ctx, 30*time.Second))
	p.put(others[0], "q.fifo", "g", "")
	p.must(p.restart())
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

func playSnapshotDedup(p *plot) {
	p.put(p.first(), "long.fifo", "g", "key")
	p.must(p.compact())
	p.put(p.first(), "long.fifo", "g", "key")
}

func playSnapshotSequence(p *plot) {
	for range 5 {
		p.put(p.first(), "q.fifo", "g", "")
	}
	messages := p.take(p.first(), "q.fifo", wanted{most: 10})
	for _, m := range messages {
		p.c.remove(p.ctx, p.first(), "q.fifo", m.Handle, m.ID)
	}
	pause(p.ctx, 5*time.Second) // until the window of the ids is over
	p.c.receive(p.ctx, p.first(), "q.fifo", wanted{most: 1})
	p.put(p.first(), "q.fifo", "g", "") // expired ids are forgotten here
	messages = p.take(p.first(), "q.fifo", wanted{most: 1})
	p.c.remove(p.ctx, p.first(), "q.fifo", messages[0].Handle, messages[0].ID)
	pause(p.ctx, 12*time.Second) // until the next scheduled time of forgetting
	p.must(p.compact())
	p.put(p.first(), "q.fifo", "g", "")
}

func playLocalClock(p *plot) {
	leader, others := p.roles()
	p.put(leader, "long.fifo", "g", "key")
	p.must(p.moveClock(others[0], 10*time.Minute))
	p.put(leader, "long.fifo", "g", "key")
}

// moveClock sets a node's clock wrong until the node ends.
func (p *plot) moveClock(n *harness.Node, by time.Duration) error {
	p.hand.touch(history.TouchClock, n)
	p.hand.did[len(p.hand.did)-1].Count = by.Milliseconds()
	return p.admin(p.ctx, n, "PUT", "/v1/clock", fmt.Sprintf(`{"offsetMs":%d}`, by.Milliseconds()))
}

func playDedupAfterDelete(p *plot) {
	n, key := p.first(), p.c.attempt()
	p.put(n, "long.fifo", "g5", key)
	messages := p.take(n, "long.fifo", wanted{most: 1})
	p.c.remove(p.ctx, n, "long.fifo", messages[0].Handle, messages[0].ID)
	p.put(n, "long.fifo", "g5", key)
}

func playExtendedWindow(p *plot) {
	for i := range 4 {
		if i > 0 {
			pause(p.ctx, 2500*time.Millisecond)
		}
		p.put(p.first(), "q.fifo", "g", "key")
	}
}

func playAttemptAfterFailover(p *plot) {
	leader, others := p.roles()
	for range 3 {
		p.put(leader, "q.fifo", "g", "")
	}
	w := wanted{most: 3, attempt: p.c.attempt(), timeout: seconds(60)}
	p.take(leader, "q.fifo", w)
	p.spread(leader)
	p.must(leader.Kill())
	must(p.cluster.Part(others...).WaitLeader(p.ctx, 30*time.Second))
	p.undrained["q.fifo"] = true
	for range 20 {
		if _, result := p.c.receive(p.ctx, others[0], "q.fifo", w); result == history.OK {
			break
		}
		pause(p.ctx, 200*time.Millisecond)
	}
	p.must(p.restart())
}

func playReplay(p *plot) {
	n := p.first()
	for range 2 {
		p.put(n, "q.fifo", "g8", "")
	}
	w := wanted{most: 2, attempt: p.c.attempt()}
	p.take(n, "q.fifo", w)
	p.c.receive(p.ctx, n, "q.fifo", w)
}

func playStaleReceive(p *plot) {
	leader, others := p.roles()
	for _, n := range others { // they learn late of commits
		p.must(p.admin(p.ctx, n, "PUT", "/v1/failpoints/apply-before", "sleep(300ms)"))
	}
	for i := range 6 {
		p.put(leader, "q.fifo", fmt.Sprint("g", i), "")
		p.c.receive(p.ctx, others[i%2], "q.fifo", wanted{most: 10, timeout: seconds(60)})
	}
	p.undrained["q.fifo"] = true
}

func playGroupLock(p *plot) {
	n := p.first()
	for range 3 {
		p.put(n, "q.fifo", "g10", "")
	}
	messages := p.take(n, "q.fifo", wanted{most: 2})
	if len(messages) < 2 {
		p.must(errRefused)
	}
	p.c.remove(p.ctx, n, "q.fifo", messages[1].Handle, messages[1].ID)
	p.c.receive(p.ctx, n, "q.fifo", wanted{most: 2})
}

func playTail(p *plot) {
	n := p.first()
	for range 3 {
		p.put(n, "q.fifo", "g11", "")
	}
	p.take(n, "q.fifo", wanted{most: 1, timeout: seconds(1)})
	pause(p.ctx, 2500*time.Millisecond)
	p.take(n, "q.fifo", wanted{most: 1})
}

func playStaleDelete(p *plot) {
	n := p.first()
	p.put(n, "q.fifo", "g12", "")
	before := p.take(n, "q.fifo", wanted{most: 1, timeout: seconds(1)})
	pause(p.ctx, 2*time.Second)
	p.take(n, "q.fifo", wanted{most: 1})
	p.c.remove(p.ctx, n, "q.fifo", before[0].Handle, before[0].ID)
}

// spread makes all nodes apply the entries so far, while this node leads: followers learn of a
// commit with the next entry. Meanwhile the observer compares their states.
func (p *plot) spread(leader *harness.Node) {
	p.put(leader, "long.fifo", "g", "")
	pause(p.ctx, time.Second)
}

// playDelete deletes a message, and makes a node the leader that may not have applied this.
func playDelete(p *plot) {
	leader, others := p.roles()
	p.put(leader, "q.fifo", "g", "")
	messages := p.take(leader, "q.fifo", wanted{most: 1})
	if !p.c.remove(p.ctx, leader, "q.fifo", messages[0].Handle, messages[0].ID) {
		p.must(errRefused)
	}
	p.spread(leader)
	p.must(leader.Kill())
	must(p.cluster.Part(others...).WaitLeader(p.ctx, 30*time.Second))
	pause(p.ctx, time.Duration(p.rules.Visibility)*time.Microsecond+time.Second)
	for range 5 {
		p.c.receive(p.ctx, others[0], "q.fifo", wanted{most: 1})
		pause(p.ctx, 200*time.Millisecond)
	}
	p.must(p.restart())
}

func playManyGroups(p *plot) {
	n := p.first()
	for i := range 12 {
		p.put(n, "q.fifo", fmt.Sprint("g", i), "")
	}
	for range 3 {
		p.take(n, "q.fifo", wanted{most: 3})
	}
}

func playForwarded(p *plot) {
	_, others := p.roles()
	for i := range 4 {
		p.put(others[0], "q.fifo", fmt.Sprint("g", i), "")
	}
	p.take(others[0], "q.fifo", wanted{most: 1})
}

func playLostLeader(p *plot) {
	for range 3 {
		leader, others := p.roles()
		p.hand.touch(history.TouchFailpoint, leader)
		p.must(p.admin(p.ctx, leader, "PUT", "/v1/failpoints/answer", "exit("+history.CrashCode+")"))
		p.c.send(p.ctx, others[0], "q.fifo", "g", p.c.attempt(), p.c.body())
		must(leader.WaitExit(10 * time.Second))
		p.must(p.restart())
	}
}

func playClockBack(p *plot) {
	n := p.first()
	p.put(n, "q.fifo", "g", "")
	p.must(p.moveClock(n, -5*time.Second))
	p.put(n, "q.fifo", "g", "")
}

// playDiskError makes the disks of all nodes fail. Each node that gets an error must end.
func playDiskError(p *plot) {
	leader, _ := p.roles()
	p.hand.touch(history.TouchError, p.cluster.Nodes...)
	for _, n := range p.cluster.Nodes {
		p.must(p.admin(p.ctx, n, "PUT", "/v1/failpoints/store-logs-before", "error(input/output error)"))
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
		p.must(n.Kill())
	}
	p.must(p.restart())
}

func playDiskHang(p *plot) {
	leader, others := p.roles()
	p.hand.touch(history.TouchFailpoint, leader)
	p.must(p.admin(p.ctx, leader, "PUT", "/v1/failpoints/store-logs-before", "hang"))
	p.demand(others[0])
	// It ends after its deadline, or never. The checkers judge this.
	if _, err := leader.WaitExit(10 * time.Second); err == nil {
		p.must(p.restart())
	}
	p.must(p.admin(p.ctx, leader, "PUT", "/v1/failpoints/store-logs-before", "off"))
}

func playEmptyDisk(p *plot) {
	leader, others := p.roles()
	away, voter := others[0], others[1]
	p.must(away.Kill())
	for range 3 {
		p.put(leader, "q.fifo", "g", "")
	}
	p.must(errors.Join(leader.Kill(), voter.Kill()))
	p.must(errors.Join(os.RemoveAll(voter.DataDir), os.MkdirAll(voter.DataDir, 0o700)))
	p.must(errors.Join(away.Start(), voter.Start()))
	// No node may lead, so there is no event to wait for. If the bug did harm, this shows when the
	// node with all entries is back.
	_, _ = p.cluster.Part(away, voter).WaitLeader(p.ctx, 10*time.Second)
	p.must(leader.Start())
	p.must(p.cluster.Part(leader, away).WaitReady(p.ctx, time.Minute))
	p.gone = voter
	p.must(voter.Kill())
}

// playUnwritten kills the leader and the only follower with entries that are on no other disk, and
// continues without this follower.
func playUnwritten(p *plot) {
	leader, others := p.roles()
	away, with := others[0], others[1]
	p.must(away.Kill())
	for range 3 {
		p.put(leader, "q.fifo", "g", "")
	}
	p.must(errors.Join(leader.Kill(), with.Kill()))
	p.must(errors.Join(away.Start(), leader.Start()))
	p.gone = with
	p.must(p.cluster.Part(leader, away).WaitReady(p.ctx, time.Minute))
}

// playUnanswered sends to a leader whose only follower hangs, and continues without the leader. The
// checkers judge whether the sends were acknowledged.
func playUnanswered(p *plot) {
	leader, others := p.roles()
	away, with := others[0], others[1]
	p.must(away.Kill())
	p.put(leader, "q.fifo", "g", "")
	p.hand.touch(history.TouchFailpoint, with)
	p.must(p.admin(p.ctx, with, "PUT", "/v1/failpoints/store-logs-before", "hang"))
	for range 2 {
		body := p.c.body()
		p.c.send(p.ctx, leader, "q.fifo", "g", keyOf(body), body)
	}
	p.must(errors.Join(leader.Kill(), with.Kill()))
	p.must(errors.Join(away.Start(), with.Start()))
	p.gone = leader
	p.must(p.cluster.Part(with, away).WaitReady(p.ctx, time.Minute))
}

func playBitFlip(p *plot) {
	n := p.first()
	body := p.c.bodyOf(400)
	p.c.counter++
	if !p.c.send(p.ctx, n, "q.fifo", "g", keyOf(body), body) {
		p.must(errRefused)
	}
	for range 5 {
		p.put(n, "q.fifo", "g", "")
	}
	p.must(n.Kill())
	p.hand.touch(history.TouchFlip, n)
	sound := must(flipIn(n, "", body))
	p.must(n.Start())
	if n.WaitReady(p.ctx, time.Minute) == nil {
		return
	}
	// It must refuse to start, and then gets its undamaged files back.
	must(n.WaitExit(10 * time.Second))
	for file, content := range sound {
		p.must(os.WriteFile(file, content, 0o600))
	}
	p.must(p.restart())
}

func playPurge(p *plot) {
	n := p.first()
	p.put(n, "q.fifo", "g23", "")
	p.take(n, "q.fifo", wanted{most: 1, timeout: seconds(2)})
	if !p.c.record(p.ctx, n, "PurgeQueue", map[string]any{"QueueUrl": p.c.url("q.fifo")},
		history.Event{Action: history.Purge, Queue: "q.fifo"}) {
		p.must(errRefused)
	}
	pause(p.ctx, 3*time.Second)
	p.c.receive(p.ctx, n, "q.fifo", wanted{most: 10})
}

func playLongPoll(p *plot) {
	n := p.first()
	w := wanted{most: 1, attempt: p.c.attempt(), wait: 1, timeout: seconds(30)}
	p.undrained["q.fifo"] = true
	var polling sync.WaitGroup
	waiter := p.newClient(3, "waiter")
	defer waiter.close()
	polling.Go(func() { waiter.receive(p.ctx, n, "q.fifo", w) })
	pause(p.ctx, 400*time.Millisecond)
	p.put(n, "q.fifo", "g", "")
	polling.Wait()
	w.wait = 0
	p.c.receive(p.ctx, n, "q.fifo", w)
}
