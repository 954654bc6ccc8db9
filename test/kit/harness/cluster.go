package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/lab/network"
)

// StartTimeout bounds the start of a fresh cluster on a slow, shared machine.
const StartTimeout = 90 * time.Second

// Options describe a cluster to start.
type Options struct {
	Binary string   // from Build
	Dir    string   // data and logs; the cluster does not remove it
	Nodes  int      // default 3
	Args   []string // further arguments of every node
	// Network is a lab with a host for each node, named after it; nil: all nodes use the loopback
	// interface. The test process is a host of the lab, too. The caller closes the lab after the
	// cluster.
	Network *network.Lab
	// Names makes nodes refer to each other by name instead of address. The lab must have been
	// created with names.
	Names bool
	// Authority gives the nodes certificates and a gossip key; nil: they use clear text. With
	// certificates, a lab cannot distinguish the kinds of their traffic.
	Authority *Authority
	// Env returns further variables for a node; nil: none. A fault build reads the path of its
	// tap from them.
	Env func(node string) []string
}

// Cluster is a set of server processes that form one seriatim cluster. Safe
// for concurrent use.
type Cluster struct {
	Nodes   []*Node
	spawner *spawner
	turn    atomic.Uint64
	closing sync.Once
}

// Start starts the nodes of a fresh cluster and waits until all are ready. If that fails, it ends
// them.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c, err := prepare(o)
	if err != nil {
		return nil, err
	}
	for _, n := range c.Nodes {
		if err := n.Start(); err != nil {
			c.Close()
			return nil, err
		}
	}
	if err := c.WaitReady(ctx, StartTimeout); err != nil {
		err = fmt.Errorf("%w\n%s", err, c.LogTails())
		c.Close()
		return nil, err
	}
	return c, nil
}

// New is Start for a single test: the data is in the test's temporary folder, the processes end
// with the test, and a failed test prints the logs.
func New(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	c, err := Start(context.Background(), o)
	if err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.LogTails())
		}
		c.Close()
	})
	return c
}

func prepare(o Options) (*Cluster, error) {
	count := o.Nodes
	if count == 0 {
		count = 3
	}
	c := &Cluster{spawner: newSpawner()}
	err := c.prepare(o, count)
	if err == nil {
		err = c.place()
	}
	if err != nil {
		c.spawner.close()
		return nil, err
	}
	if count > 1 {
		gossip := c.gossip()
		for _, n := range c.Nodes {
			n.setFlag("--join", gossip)
		}
	}
	return c, nil
}

func (c *Cluster) prepare(o Options, count int) error {
	for i := range count {
		name := fmt.Sprintf("n%d", i+1)
		data := filepath.Join(o.Dir, name)
		if err := os.MkdirAll(data, 0o700); err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
		args := []string{"server", "--node-name", name, "--data-dir", data, "--bootstrap-expect", fmt.Sprint(count), "--minimum-window",
			"1", "--auth=false"}
		c.Nodes = append(c.Nodes, &Node{
			Name: name, DataDir: data, binary: o.Binary, args: append(args, o.Args...),
			logPath: filepath.Join(o.Dir, name+".log"), spawner: c.spawner, env: o.environment, network: o.Network, named: o.Names,
		})
	}
	return nil
}

// Close ends every process and waits for it.
func (c *Cluster) Close() {
	c.closing.Do(func() {
		for _, n := range c.Nodes {
			// SIGKILL also ends a paused process.
			_ = n.Kill()
		}
		c.spawner.close()
	})
}

// Part is a view of the cluster with only some of its nodes, for clients and waits that must not
// use the others. It need not be closed.
func (c *Cluster) Part(nodes ...*Node) *Cluster { return &Cluster{Nodes: nodes, spawner: c.spawner} }

// Running returns the nodes whose process exists.
func (c *Cluster) Running() []*Node {
	var running []*Node
	for _, n := range c.Nodes {
		if n.Running() {
			running = append(running, n)
		}
	}
	return running
}

// Next returns the next node in turn, running or not.
func (c *Cluster) Next() *Node {
	return c.Nodes[int((c.turn.Add(1)-1)%uint64(len(c.Nodes)))]
}

// WaitReady waits until every running node is ready.
func (c *Cluster) WaitReady(ctx context.Context, within time.Duration) error {
	deadline := time.Now().Add(within)
	for _, n := range c.Running() {
		if err := n.WaitReady(ctx, time.Until(deadline)); err != nil {
			return err
		}
	}
	if len(c.Running()) == 0 {
		return errors.New("no node is running")
	}
	return nil
}

// WaitLeader waits until a running node leads and returns it. If two nodes claim to lead, the one
// with the higher term counts. The error contains the last answer of each node, and says whether
// the caller's context has ended.
func (c *Cluster) WaitLeader(ctx context.Context, within time.Duration) (*Node, error) {
	var leader *Node
	err := poll(ctx, within, func() error {
		// Do not ask nodes with a context that has ended.
		if err := ctx.Err(); err != nil {
			return permanent{fmt.Errorf("the wait for a leader was ended by its caller: %w", context.Cause(ctx))}
		}
		leader = nil
		var term uint64
		problems := []error{errors.New("no node leads")}
		for _, n := range c.Nodes {
			if !n.Running() {
				problems = append(problems, fmt.Errorf("%s does not run", n.Name))
				continue
			}
			s, err := n.Status(ctx)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			if s.Role == "leader" && s.Term >= term {
				leader, term = n, s.Term
			}
			problems = append(problems, fmt.Errorf("%s is %s in term %d", n.Name, s.Role, s.Term))
		}
		if leader == nil {
			return errors.Join(problems...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return leader, nil
}

// Followers are the running nodes other than leader.
func (c *Cluster) Followers(leader *Node) []*Node {
	var others []*Node
	for _, n := range c.Running() {
		if n != leader {
			others = append(others, n)
		}
	}
	return others
}

// quietPolls is the number of consecutive polls that must see the same applied index on all nodes.
// The commit index cannot be used, since it includes entries of the consensus itself, which are not
// applied.
const quietPolls = 5

// WaitConverged waits until all running nodes report the same applied index for a while, and
// returns their common status. If two nodes have different state hashes at one index, it fails at
// once.
func (c *Cluster) WaitConverged(ctx context.Context, within time.Duration) (Status, error) {
	seen := map[uint64]Status{} // the first status with each applied index
	var agreed Status
	quiet := 0
	err := poll(ctx, within, func() error {
		nodes := c.Running()
		if len(nodes) == 0 {
			return permanent{errors.New("no node is running")}
		}
		var statuses []Status
		for _, n := range nodes {
			s, err := n.Status(ctx)
			if err != nil {
				return err
			}
			first, known := seen[s.AppliedIndex]
			if !known {
				seen[s.AppliedIndex] = s
			} else if first.StateHash != s.StateHash {
				return permanent{fmt.Errorf("state differs at index %d: %s has %s, %s has %s",
					s.AppliedIndex, first.NodeName, first.StateHash, s.NodeName, s.StateHash)}
			}
			statuses = append(statuses, s)
		}
		for _, s := range statuses {
			if s.AppliedIndex != statuses[0].AppliedIndex || s.AppliedIndex != agreed.AppliedIndex {
				agreed, quiet = statuses[0], 0
				return fmt.Errorf("applied indexes differ or move: %s", describe(statuses))
			}
		}
		if quiet++; quiet < quietPolls {
			return fmt.Errorf("applied indexes were equal %d times: %s", quiet, describe(statuses))
		}
		return nil
	})
	if err == nil && agreed.StateHash == "" {
		return agreed, errors.New("the nodes report no state hash")
	}
	return agreed, err
}

func describe(statuses []Status) string {
	var parts []string
	for _, s := range statuses {
		parts = append(parts, fmt.Sprintf("%s %s applied %d of %d", s.NodeName, s.Role, s.AppliedIndex, s.CommitIndex))
	}
	return strings.Join(parts, ", ")
}

// LogTails returns the ends of the logs of all nodes.
func (c *Cluster) LogTails() string {
	var b strings.Builder
	for _, n := range c.Nodes {
		fmt.Fprintf(&b, "--- %s (pid %d, running %v)\n%s\n", n.Name, n.Pid(), n.Running(), n.LogTail())
	}
	return b.String()
}

// Must ends the test with an error, of whatever type.
func Must[E interface {
	comparable
	error
}](tb testing.TB, err E) {
	tb.Helper()
	var none E
	if err != none {
		tb.Fatal(err)
	}
}

// Check reports an error. The test continues.
func Check[E interface {
	comparable
	error
}](tb testing.TB, err E) {
	tb.Helper()
	var none E
	if err != none {
		tb.Error(err)
	}
}

// Err is the error of a call with a result that does not matter.
func Err[R any, E error](_ R, err E) E { return err }
