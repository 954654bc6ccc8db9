package cluster

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
)

var races = flag.Int("races", 20, "how many times nodes race to bootstrap a cluster")

// raceOrder is one way in which three nodes start: how long each waits first,
// and which of them is stopped and started again meanwhile, maybe without its
// disk.
type raceOrder struct {
	waits   [3]time.Duration
	restart int // the node, or -1
	after   time.Duration
	wipe    bool
}

func drawRace(random *rand.Rand) raceOrder {
	order := raceOrder{restart: -1, after: time.Duration(random.IntN(1500)) * time.Millisecond, wipe: random.IntN(2) == 0}
	for i := range order.waits {
		order.waits[i] = time.Duration(random.IntN(600)) * time.Millisecond
	}
	if random.IntN(2) == 0 {
		order.restart = random.IntN(len(order.waits))
	}
	return order
}

// TestBootstrapRaces starts three empty nodes in a random order at random
// moments, again and again. One of them may be stopped and started again in the
// middle, with or without its disk. All three always end in one cluster.
func TestBootstrapRaces(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for race := range *races {
		order := drawRace(random)
		t.Run(fmt.Sprint(race), func(t *testing.T) {
			t.Parallel()
			t.Logf("%+v", order)
			runRace(t, order)
		})
	}
}

func runRace(t *testing.T, order raceOrder) {
	ends := &endings{codes: map[string]fault.ExitCode{}}
	c := prepareNodes(t, 3, func(cfg *Config) { cfg.Fatal = ends.fatalOf(cfg.NodeName) })
	var starting sync.WaitGroup
	for i := range c.nodes {
		starting.Go(func() {
			time.Sleep(order.waits[i])
			node, err := Open(clustertest.Context(t), c.configs[i])
			if err != nil {
				t.Errorf("node %d: %v", i, err)
				return
			}
			c.nodes[i] = node
		})
	}
	starting.Wait()
	if t.Failed() {
		return
	}
	if i := order.restart; i >= 0 {
		time.Sleep(order.after)
		c.crash(i)
		if order.wipe {
			clustertest.Must(t, os.RemoveAll(c.configs[i].DataDir))
		}
		c.open(i)
	}
	for i := range c.nodes {
		c.waitReady(i)
	}
	ids := map[string]bool{}
	for _, n := range c.nodes {
		ids[n.process.clusterID()] = true
	}
	if len(ids) != 1 {
		t.Errorf("clusters %v", ids)
	}
	c.create(0, fifo)
	c.send(1, fifo, "one-cluster")
	c.agree()
	if len(ends.codes) > 0 {
		t.Errorf("nodes ended: %v", ends.codes)
	}
}
