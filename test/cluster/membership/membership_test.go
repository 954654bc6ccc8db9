package membership

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// stopLimit bounds a clean stop.
const stopLimit = 10 * time.Second

// betweenRestarts is the pause after a node is ready again. An SDK tries three times within about
// three seconds. If restarts follow faster, a client that knows the addresses of the nodes may fail
// with all three tries.
const betweenRestarts = 4 * time.Second

// exitRemoved is the exit code of a node that was removed.
const exitRemoved = 87

func rolls(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SERIATIM_ROLLS")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("SERIATIM_ROLLS is %q, want a count", text)
	}
	return n
}

// TestRollingRestartUnderLoad restarts the nodes one after the other, including the leader. Clients
// with default retries must not see a failed call.
func TestRollingRestartUnderLoad(t *testing.T) {
	c := cluster(t, 3)
	l := startLoad(t, c)
	begin := time.Now()
	time.Sleep(2 * time.Second) // load before the first restart
	t.Logf("write gap without any restart: %v", l.Gap(begin.Add(time.Second)))
	var gaps []time.Duration
	for range rolls(t) {
		for _, n := range c.Nodes {
			status, err := n.Status(t.Context())
			harness.Must(t, err)
			restart := time.Now()
			harness.Check(t, n.Stop(stopLimit))
			stopped := time.Since(restart)
			harness.Must(t, n.Start())
			ready(t, n)
			gap := l.Gap(restart)
			gaps = append(gaps, gap)
			t.Logf("%s (%s): stopped in %v, ready again after %v, write gap %v", n.Name, status.Role,
				stopped.Round(time.Millisecond), time.Since(restart).Round(time.Millisecond), gap)
			time.Sleep(betweenRestarts)
		}
	}
	elapsed := time.Since(begin)
	if failed := l.finish(); failed > 0 {
		t.Errorf("%d calls failed", failed)
	}
	slices.Sort(gaps)
	t.Logf("%.0f calls/s for %v; write gap per restart: median %v, worst %v", float64(l.calls.Load())/elapsed.Seconds(),
		elapsed.Round(time.Second), gaps[len(gaps)/2], gaps[len(gaps)-1])
	harness.Check(t, harness.Err(c.WaitConverged(t.Context(), waitMax)))
}

// TestOneEndpoint restarts the other nodes, and then kills the leader among them, while each client
// knows only one node, which stays up. Such a client depends on the answers of this node.
func TestOneEndpoint(t *testing.T) {
	c := cluster(t, 3)
	kept, others := c.Nodes[0], c.Nodes[1:]
	l := startLoadAt(t, c, kept)
	begin := time.Now()
	time.Sleep(time.Second) // load before the first restart
	for range rolls(t) {
		for _, n := range others {
			change(t, kept, "cluster", "transfer-leader", n.Name)
			restart := time.Now()
			harness.Check(t, n.Stop(stopLimit))
			harness.Must(t, n.Start())
			ready(t, n)
			t.Logf("%s, which led, restarted: write gap %v", n.Name, l.Gap(restart))
			time.Sleep(betweenRestarts)
		}
		change(t, kept, "cluster", "transfer-leader", others[0].Name)
		killed := time.Now()
		harness.Must(t, others[0].Kill())
		time.Sleep(betweenRestarts) // meanwhile two nodes serve
		t.Logf("%s, which led, killed: write gap %v", others[0].Name, l.Gap(killed))
		harness.Must(t, others[0].Start())
		ready(t, others[0])
	}
	elapsed := time.Since(begin)
	if failed := l.finish(); failed > 0 {
		t.Errorf("%d calls failed", failed)
	}
	t.Logf("%.0f calls/s for %v at one endpoint", float64(l.calls.Load())/elapsed.Seconds(), elapsed.Round(time.Second))
	harness.Check(t, harness.Err(c.WaitConverged(t.Context(), waitMax)))
}

// TestStatusIsTrueAtOnce reads the status right after a node was killed, and right after one was
// paused.
func TestStatusIsTrueAtOnce(t *testing.T) {
	c := cluster(t, 3)
	leader, err := c.WaitLeader(t.Context(), waitMax)
	harness.Must(t, err)
	follower := c.Followers(leader)[0]
	const degraded = "; no further node may fail"
	for what, fails := range map[string][2]func() error{
		"killed": {follower.Kill, func() error { return follower.Start() }},
		"paused": {follower.Pause, follower.Resume},
	} {
		ready(t, c.Nodes...)
		waitStatus(t, leader, 0, "Healthy: 3 of 3 voters answer, leader "+leader.Name)
		harness.Must(t, fails[0]())
		if out, code := tool(t, leader, "cluster", "status"); code != 1 ||
			!strings.Contains(out, "Degraded: 2 of 3 voters answer, leader "+leader.Name+degraded) {
			t.Errorf("%s: exit code %d\n%s", what, code, out)
		}
		harness.Must(t, fails[1]())
	}
}

// TestScaleUnderLoad grows a cluster from three to five voters and shrinks it again. The leader and
// another initial member are removed.
func TestScaleUnderLoad(t *testing.T) {
	c := cluster(t, 3)
	l := startLoad(t, c)
	n4 := spare(t, c, "n4")
	waitRoles(t, c.Nodes[0], "n1 voter, n2 voter, n3 voter, n4 learner")
	change(t, n4, "cluster", "promote", "n4")
	n5 := spare(t, c, "n5")
	change(t, c.Nodes[1], "cluster", "promote", "n5")
	waitRoles(t, n5, "n1 voter, n2 voter, n3 voter, n4 voter, n5 voter")
	all := append(slices.Clone(c.Nodes), n4, n5)
	l.use(all...)

	change(t, n5, "cluster", "transfer-leader", "n1")
	for _, leaving := range []int{0, 1} {
		n := all[leaving]
		left := slices.DeleteFunc(slices.Clone(all[leaving:]), func(o *harness.Node) bool { return o == n })
		l.use(left...)
		time.Sleep(time.Second) // time for requests on their way to the removed node
		change(t, n5, "cluster", "remove", n.Name, "--yes")
		if code, err := n.WaitExit(waitMax); err != nil || code != exitRemoved {
			t.Errorf("%s ended with %d, %v", n.Name, code, err)
		}
	}
	waitRoles(t, n5, "n3 voter, n4 voter, n5 voter")
	if failed := l.finish(); failed > 0 {
		t.Errorf("%d calls failed", failed)
	}
	harness.Check(t, harness.Err(c.Part(c.Nodes[2], n4, n5).WaitConverged(t.Context(), waitMax)))
	// A removed node stays removed when it is started, and says why.
	harness.Must(t, all[0].Start())
	if code, err := all[0].WaitExit(waitMax); err != nil || code != exitRemoved {
		t.Errorf("%s started again ended with %d, %v", all[0].Name, code, err)
	}
}

// TestWipedNodeIsReplacedByOneCommand wipes a disk. The node returns under its name as a learner,
// and one command makes it a voter.
func TestWipedNodeIsReplacedByOneCommand(t *testing.T) {
	c := cluster(t, 3)
	l := startLoad(t, c)
	lost := c.Nodes[2]
	harness.Must(t, lost.Kill())
	waitStatus(t, c.Nodes[0], 1, "Degraded: 2 of 3 voters answer")
	if out, code := tool(t, c.Nodes[0], "cluster", "replace", "n3", "--yes"); code != 7 || !strings.Contains(out, "empty data directory") {
		t.Errorf("replace without a successor: exit code %d, %s", code, out)
	}
	harness.Must(t, lost.Wipe())
	harness.Must(t, lost.Start())
	list := waitRoles(t, c.Nodes[0], "n1 voter, n2 voter, n3 voter, n3 learner")
	ready(t, lost)
	waitStatus(t, c.Nodes[1], 1, "Degraded: 2 of 3 voters answer")
	if out, code := tool(t, c.Nodes[1], "cluster", "promote", list.Members[3].NodeID); code != 7 ||
		!strings.Contains(out, "cluster replace n3") {
		t.Errorf("promote: exit code %d, %s", code, out)
	}
	change(t, lost, "cluster", "replace", "n3", "--yes")
	waitRoles(t, lost, "n1 voter, n2 voter, n3 voter")
	// It is a voter: with it as the only follower the leader still works.
	harness.Must(t, c.Nodes[0].Kill())
	harness.Must(t, harness.Err(c.WaitLeader(t.Context(), waitMax)))
	harness.Must(t, c.Nodes[0].Start())
	ready(t, c.Nodes...)
	if out, code := tool(t, c.Nodes[0], "cluster", "status"); code != 0 || !strings.Contains(out, "Healthy: 3 of 3 voters answer") {
		t.Errorf("status: exit code %d, %s", code, out)
	}
	l.finish()
	harness.Check(t, harness.Err(c.WaitConverged(t.Context(), waitMax)))
}

// TestAllAddressesChange restarts every node with other ports, as when all pods are rescheduled at
// once.
func TestAllAddressesChange(t *testing.T) {
	c := cluster(t, 3)
	for round := range 2 {
		l := startLoad(t, c)
		time.Sleep(time.Second) // some messages to keep
		l.finish()
		for _, n := range c.Nodes {
			harness.Must(t, n.Stop(stopLimit))
		}
		harness.Must(t, c.Readdress())
		for _, n := range c.Nodes {
			harness.Must(t, n.Start())
		}
		begin := time.Now()
		ready(t, c.Nodes...)
		t.Logf("round %d: all nodes ready %v after the last start with other addresses", round, time.Since(begin).Round(time.Millisecond))
		harness.Must(t, harness.Err(c.WaitConverged(t.Context(), waitMax)))
		// The load of the next round starts again with the first message ids.
		if out, code := toolAt(t, c.Nodes[0], "queue", "delete", "load.fifo", "--yes"); code != 0 {
			t.Fatalf("delete: %s", out)
		}
	}
}

// TestDrainedNode drains the leader under load. No call fails, and the node neither leads nor is
// ready until it is uncordoned.
func TestDrainedNode(t *testing.T) {
	c := cluster(t, 3)
	l := startLoad(t, c)
	leader, err := c.WaitLeader(t.Context(), waitMax)
	harness.Must(t, err)
	time.Sleep(time.Second) // load before the drain
	change(t, leader, "cluster", "drain")
	if err := leader.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "drained") {
		t.Errorf("a drained node is ready: %v", err)
	}
	next, err := c.WaitLeader(t.Context(), waitMax)
	if err != nil || next == leader {
		t.Errorf("%s leads after it was drained: %v", next.Name, err)
	}
	time.Sleep(3 * time.Second) // time for requests and long polls at a drained node
	change(t, leader, "cluster", "uncordon")
	ready(t, leader)
	if failed := l.finish(); failed > 0 {
		t.Errorf("%d calls failed", failed)
	}
}

// waitStatus waits until the status has this exit code and contains part.
func waitStatus(t *testing.T, n *harness.Node, want int, part string) {
	t.Helper()
	deadline := time.Now().Add(waitMax)
	for {
		out, code := tool(t, n, "cluster", "status")
		if code == want && strings.Contains(out, part) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("status: exit code %d, %s", code, out)
		}
	}
}
