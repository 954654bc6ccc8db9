package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/sealing"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// sealedSecret is the secret of the access keys of these tests. No file may contain it.
const sealedSecret = canary + "-secret"

func accessKeyID(i int) string { return fmt.Sprintf("AKIASEALED%010d", i) }

func (c *nodes) createKey(through, i int) {
	c.t.Helper()
	c.submit(through, &access.CreateAccessKey{ID: accessKeyID(i), Secret: sealedSecret, Account: "000000000000"})
}

// opens waits until a node has an access key with a sealed secret, and checks that it can open it.
func (c *nodes) opens(i, key int) {
	c.t.Helper()
	c.waitFor(fmt.Sprintf("node %d to open the access key %d", i, key), func() bool {
		sealed, known := c.nodes[i].Access().Key(accessKeyID(key))
		secret, err := c.nodes[i].Secret(sealed)
		return known && sealed.Secret == "" && sealed.Sealed != "" && err == nil && secret == sealedSecret
	})
}

func (c *nodes) secretsFile(i int) string {
	return filepath.Join(c.configs[i].DataDir, sealing.FileName)
}

// holders returns the nodes that the sealing key is wrapped for.
func (c *nodes) holders(i int) (names []string) {
	if key := c.nodes[i].Access().SealingKey(); key != nil {
		for _, w := range key.Wraps {
			names = append(names, w.Holder)
		}
	}
	return names
}

// Without an encryption key file, too, no file of a node and no backup contains the secret of an
// access key in clear text.
func TestNoSecretInClear(t *testing.T) {
	t.Parallel()
	for _, logStore := range []string{LogStoreWAL, LogStoreBoltDB} {
		t.Run(logStore, func(t *testing.T) {
			t.Parallel()
			c := startNodes(t, 3, func(cfg *Config) {
				cfg.Log.Store = logStore
				quickly(cfg)
			})
			root := filepath.Dir(c.configs[0].DataDir)
			for i := range c.nodes {
				c.createKey(i, i)
			}
			c.createKey(2, 0) // a second creation of the same key has no effect
			c.agree()
			noCanary(t, root)
			c.snapshotAll()
			c.createKey(0, 3)
			for i := range c.nodes { // replay
				c.crash(i)
			}
			for i := range c.nodes {
				c.open(i)
			}
			for i := range c.nodes {
				c.waitReady(i)
				for key := range 4 {
					c.opens(i, key)
				}
			}
			noCanary(t, root)
			if _, backup := c.backup(0); bytes.Contains(backup, []byte(canary)) {
				t.Error("the backup has clear text")
			}
			for i := range c.nodes {
				if info, err := os.Stat(c.secretsFile(i)); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%v, %v", info, err)
				}
			}
		})
	}
}

// A node that joins and a node that lost its private key get the sealing key from the others. A
// removed member no longer has it.
func TestSealingKeyForNewHolders(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, nil)
	c.createKey(0, 0)
	for i := range c.nodes {
		c.opens(i, 0)
	}
	const lost = 1
	c.close(lost)
	clustertest.Must(t, os.Remove(c.secretsFile(lost)))
	c.open(lost)
	c.waitReady(lost)
	c.opens(lost, 0)
	c.createKey(lost, 1)

	// A node with an empty disk takes the place of one that is gone.
	const anew = 2
	old := c.nodes[anew].process.nodeID
	c.close(anew)
	c.wipe(anew)
	c.open(anew)
	c.waitReady(anew)
	c.opens(anew, 1)
	c.createKey(anew, 2)
	c.waitFor("the new node to replace the lost one", func() bool {
		return c.nodes[0].ReplaceMember(clustertest.Context(t), Change{Node: "n3"}) == nil
	})
	c.waitFor("the lost node to be no holder", func() bool {
		now := c.holders(0)
		return len(now) == 3 && !slices.Contains(now, old) && slices.Contains(now, c.nodes[anew].process.nodeID)
	})
	for i := range c.nodes {
		c.opens(i, 2)
	}
	c.agree()
}

// If no node can open the sealing key, requests are not refused for a wrong signature, health
// reports the cause, and new access keys can be created.
func TestSealingKeyThatNobodyOpens(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, nil)
	c.createKey(0, 0)
	c.close(0)
	clustertest.Must(t, os.Remove(c.secretsFile(0)))
	c.open(0)
	c.waitReady(0)
	key, _ := c.nodes[0].Access().Key(accessKeyID(0))
	if secret, err := c.nodes[0].Secret(key); !errors.Is(err, fault.ErrUnavailable) || secret != "" {
		t.Errorf("got %q, %v", secret, err)
	}
	if found, sealed := c.nodes[0].secrets(); !sealed || found.Value != 2 {
		t.Errorf("health says %+v", found)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.nodes[0].Submit(short,
		&access.CreateAccessKey{ID: accessKeyID(1), Secret: sealedSecret, Account: "000000000000"}); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("a new access key: %v", err)
	}
	c.submit(0, &access.DeleteAccessKey{ID: accessKeyID(0)})
	c.createKey(0, 1)
	c.opens(0, 1)
	noCanary(t, c.configs[0].DataDir)
}

// A damaged private key is not replaced by a new one without the operator.
func TestDamagedSecretsFile(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, nil)
	c.close(0)
	clustertest.FlipBit(t, c.secretsFile(0), 20)
	record := clustertest.NewFatalRecord()
	cfg := c.configs[0]
	cfg.Fatal = record.Fatal
	if node, err := Open(clustertest.Context(t), cfg); err == nil {
		_ = node.Close(clustertest.Context(t)) // it must not have opened
		t.Error("the node opened")
	}
	if codes, _ := record.All(); len(codes) != 1 || codes[0] != ExitChecksum {
		t.Errorf("it ended with %v", codes)
	}
}

// A secret in clear text that arrives once secrets are sealed is refused before it gets into the
// log.
func TestSecretInClearIsRefused(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, nil)
	c.createKey(0, 0)
	clear := &access.CreateAccessKey{ID: accessKeyID(1), Secret: sealedSecret, Account: "000000000000"}
	frame, err := codec.AppendCommand(nil, clear)
	clustertest.Must(t, err)
	if o := c.nodes[0].refuseCommand(frame); o.Verdict == 0 || o.Reason == "" {
		t.Errorf("the leader takes it: %+v", o)
	}
}

// A backup with access keys is restored with the secrets file of a former member, or without the
// keys. Anything else is refused and changes nothing.
func TestRestoreSealedAccessKeys(t *testing.T) {
	t.Parallel()
	from := startNodes(t, 3, quickly)
	from.create(0, fifo)
	from.createKey(0, 0)
	_, backup := from.backup(1)
	secrets := func(c *nodes, i int) string {
		text, err := os.ReadFile(c.secretsFile(i))
		clustertest.Must(t, err)
		return string(text)
	}
	to := startNodes(t, 3, quickly)
	to.createKey(0, 9)
	restore := func(through int, o RestoreOptions) error {
		_, err := to.nodes[through].Restore(clustertest.Context(t), bytes.NewReader(backup), o)
		return err
	}
	through := []int{to.leader(), to.followers()[0]}
	for _, i := range through {
		for name, o := range map[string]RestoreOptions{
			"nothing":               {},
			"no file of a node":     {SecretsKey: "anything"},
			"a file of other nodes": {SecretsKey: secrets(to, 0)},
		} {
			if err := restore(i, o); !errors.Is(err, ErrSealed) {
				t.Errorf("with %s through node %d: %v", name, i, err)
			}
		}
	}
	queues := 0
	to.nodes[0].ReadLocal(func(v queue.View) { queues = v.Queues() })
	if keys := to.nodes[0].Access().KeyCount(); keys != 1 || queues != 0 {
		t.Errorf("a refused restore changed the cluster: %d access keys, %d queues", keys, queues)
	}
	clustertest.Must(t, restore(through[1], RestoreOptions{SecretsKey: secrets(from, 2)}))
	for i := range to.nodes {
		to.opens(i, 0)
	}
	to.createKey(1, 1)
	to.agree()
	for _, holder := range to.holders(0) {
		if !slices.ContainsFunc(to.nodes, func(n *Node) bool { return n.process.nodeID == holder }) {
			t.Errorf("%s holds the sealing key", holder)
		}
	}

	without := startNodes(t, 1, quickly)
	without.createKey(0, 9)
	if _, err := without.nodes[0].Restore(clustertest.Context(t), bytes.NewReader(backup),
		RestoreOptions{WithoutAccessKeys: true}); err != nil {
		t.Fatal(err)
	}
	without.opens(0, 9)
	if n := without.nodes[0].Access().KeyCount(); n != 1 {
		t.Errorf("%d access keys are there", n)
	}
	without.createKey(0, 1)
	without.opens(0, 1)
}

// A secret that was opened before costs a request no allocation, and a sealed secret cannot be
// opened for another access key.
func TestSecretsAreOpenedOnce(t *testing.T) {
	c := startNodes(t, 1, nil)
	c.createKey(0, 0)
	key, _ := c.nodes[0].Access().Key(accessKeyID(0))
	if n := testing.AllocsPerRun(100, func() {
		if secret, err := c.nodes[0].Secret(key); err != nil || secret != sealedSecret {
			t.Error(secret, err)
		}
	}); n != 0 {
		t.Errorf("a request allocates %v times for its secret", n)
	}
	other := access.Key{ID: accessKeyID(1), Sealed: key.Sealed}
	if secret, err := c.nodes[0].Secret(other); err == nil {
		t.Errorf("the secret of another access key was opened: %q", secret)
	}
}
