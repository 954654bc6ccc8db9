package cluster

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// newKey returns a random key.
func newKey(t *testing.T) []byte {
	t.Helper()
	key, err := encryption.DrawKey(rand.Reader)
	clustertest.Must(t, err)
	return key
}

func newKeyring(t *testing.T, keys ...[]byte) *encryption.Keyring {
	t.Helper()
	r, err := encryption.NewKeyring(rand.Reader, keys...)
	clustertest.Must(t, err)
	return r
}

// canary is contained in everything that users put into the cluster. No file may contain it.
const canary = "CANARY-in-clear-text"

// noCanary searches all files of a folder.
func noCanary(t *testing.T, folder string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		files++
		if at := bytes.Index(text, []byte(canary)); at >= 0 {
			t.Errorf("%s has clear text at byte %d: %.60q", path, at, text[at:])
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatal(files, err)
	}
}

// fillWithCanaries puts the canary into every text that a user can set.
func (c *nodes) fillWithCanaries(round int) {
	c.t.Helper()
	name := fmt.Sprintf("%s-queue-%d.fifo", canary, round)
	c.create(0, name, queue.Attribute{Name: "ContentBasedDeduplication", Value: "true"})
	c.submit(0, &queue.SetQueueTags{Queue: name, Set: []queue.Tag{{Key: canary + "-tag", Value: canary}}})
	for i, size := range []int{1, 20, 200, 5 << 10, 150 << 10, 700 << 10} {
		body := canary + strings.Repeat(fmt.Sprintf("%d-%d ", round, i), size)
		if len(body) > 1<<20 {
			body = body[:1<<20-1000]
		}
		entry := entryFor(name, body)
		entry.GroupID, entry.DeduplicationID = canary+"-group", fmt.Sprintf("%s-%d-%d", canary, round, i)
		entry.Attributes = []queue.MessageAttribute{{Name: canary + "-attribute", DataType: "String", Value: canary}}
		c.submit(i%len(c.nodes), &queue.SendMessages{Queue: name, Entries: []queue.SendEntry{entry}})
	}
	c.submit(0, &access.PutUserPolicy{Account: "000000000000", User: canary,
		Policy: `{"Version":"2012-10-17","Statement":[{"Sid":"` + strings.ReplaceAll(canary, "-", "") +
			`","Effect":"Allow","Action":"sqs:*","Resource":"*"}]}`})
	c.submit(0, &access.CreateAccessKey{ID: fmt.Sprintf("%s%04d", "AKIA0000000000000000", round), Secret: canary + "-secret",
		Account: "000000000000"})
}

// Nothing that users put into a cluster is in clear text in a backup or in a file of a node: after
// sends, snapshots, a replay, an installed snapshot, and the replacement of a node by an empty one.
func TestNothingInClearText(t *testing.T) {
	t.Parallel()
	for _, logStore := range []string{LogStoreWAL, LogStoreBoltDB} {
		for _, bodyStore := range []string{BodiesInSegments, BodiesInMemory} {
			t.Run(logStore+" "+bodyStore, func(t *testing.T) {
				keys := newKeyring(t, newKey(t))
				c := startNodes(t, 3, func(cfg *Config) {
					segmentsEverywhere(cfg)
					cfg.Log.Store, cfg.Log.Bodies.Store, cfg.Log.Encryption.Keys = logStore, bodyStore, keys
					quickly(cfg)
				})
				root := filepath.Dir(c.configs[0].DataDir)
				c.fillWithCanaries(0)
				c.agree()
				noCanary(t, root)
				c.snapshotAll()
				c.fillWithCanaries(1)
				noCanary(t, root)
				for i := range c.nodes { // replay
					c.crash(i)
				}
				for i := range c.nodes {
					c.open(i)
				}
				for i := range c.nodes {
					c.waitReady(i)
				}
				away := c.followers()[0]
				c.close(away) // it will install a snapshot
				c.fillAndSnapshot(away)
				c.open(away)
				c.waitReady(away)
				c.agree()
				noCanary(t, root)
				c.readCanaries()
				_, backup := c.backup(0)
				if bytes.Contains(backup, []byte(canary)) {
					t.Error("the backup has clear text")
				}
				c.restoredElsewhere(backup, keys)
			})
		}
	}
}

// fillAndSnapshot makes a snapshot that covers the entries a stopped node lacks.
func (c *nodes) fillAndSnapshot(away int) {
	c.t.Helper()
	through := (away + 1) % len(c.nodes)
	c.create(through, fifo)
	c.sendBodies(through, 0, 100)
	c.snapshotBut(away)
	c.sendBodies(through, 100, 110)
	c.snapshotBut(away)
}

// readCanaries receives the messages of the first round.
func (c *nodes) readCanaries() {
	c.t.Helper()
	name := canary + "-queue-0.fifo"
	for got := 0; got < 6; {
		messages := c.receive(0, queue.ReceiveMessages{Queue: name, MaxMessages: queue.Some(10), VisibilityTimeout: queue.Some(600)}, 0)
		if len(messages) == 0 {
			c.t.Fatalf("%d messages were received", got)
		}
		for i := range messages {
			if !strings.HasPrefix(messages[i].Body.String(), canary) {
				c.t.Errorf("a message has the body %.40q", messages[i].Body.String())
			}
		}
		got += len(messages)
	}
}

// restoredElsewhere restores an encrypted backup into clusters with its key and without.
func (c *nodes) restoredElsewhere(backup []byte, keys *encryption.Keyring) {
	c.t.Helper()
	c.t.Run("restored", func(t *testing.T) {
		with := startNodes(t, 1, func(cfg *Config) { cfg.Log.Encryption.Keys = keys })
		clustertest.Must(t, clustertest.Err(with.nodes[0].Restore(clustertest.Context(t), bytes.NewReader(backup), RestoreOptions{})))
		noCanary(t, with.configs[0].DataDir)
		without := startNodes(t, 1, nil)
		if _, err := without.nodes[0].Restore(clustertest.Context(t), bytes.NewReader(backup), RestoreOptions{}); !errors.Is(err,
			encryption.ErrKeyMissing) || !errors.Is(err, ErrBadBackup) {
			t.Errorf("without the key: %v", err)
		}
		without.noSpools()
	})
}

// endsWith opens a node that has to end, and returns its exit code.
func (c *nodes) endsWith(i int) fault.ExitCode {
	c.t.Helper()
	record := clustertest.NewFatalRecord()
	cfg := c.configs[i]
	cfg.Fatal = record.Fatal
	if node, err := Open(clustertest.Context(c.t), cfg); err == nil {
		_ = node.Close(clustertest.Context(c.t)) // it must not have opened
		c.t.Fatal("the node opened")
	} else if !errors.Is(err, encryption.ErrKeyMissing) {
		c.t.Fatal(err)
	}
	codes, _ := record.All()
	if len(codes) == 0 {
		return 0
	}
	return codes[0]
}

// A node needs every key that its directory was encrypted with, and encrypts with the first one.
func TestKeysOfADataDirectory(t *testing.T) {
	t.Parallel()
	old, next := newKey(t), newKey(t)
	c := startNodes(t, 1, segmentsEverywhere)
	restart := func(keys *encryption.Keyring) {
		t.Helper()
		if c.nodes[0] != nil {
			c.close(0)
		}
		c.configs[0].Log.Encryption.Keys = keys
		c.open(0)
		c.waitReady(0)
	}
	c.create(0, fifo)
	c.sendBodies(0, 0, 20)
	restart(newKeyring(t, old)) // it encrypts from now on
	c.sendBodies(0, 20, 40)
	c.snapshotAll()
	restart(newKeyring(t, old, next))
	c.sendBodies(0, 40, 60)
	restart(newKeyring(t, next, old))
	c.sendBodies(0, 60, 80)
	c.snapshotAll()
	c.close(0)
	boots := filepath.Join(c.configs[0].DataDir, "boots.json")
	before, err := os.ReadFile(boots)
	clustertest.Must(t, err)
	for name, keys := range map[string]*encryption.Keyring{"no key": nil, "the old key": newKeyring(t, old),
		"the new key": newKeyring(t, next)} {
		c.configs[0].Log.Encryption.Keys = keys
		if code := c.endsWith(0); code != ExitKeyMissing {
			t.Errorf("with %s the node ends with %d", name, code)
		}
	}
	if after, err := os.ReadFile(boots); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a start without the keys changed the directory: %s, %v", after, err)
	}
	// The record of the keys may be lost: encrypted files say by themselves that they are
	// encrypted.
	clustertest.Must(t, os.Remove(filepath.Join(c.configs[0].DataDir, "encryption.json")))
	c.configs[0].Log.Encryption.Keys = nil
	if code := c.endsWith(0); code != ExitKeyMissing {
		t.Errorf("without the record the node ends with %d", code)
	}
	restart(newKeyring(t, next, old))
	c.takeBodies(0, 0, 80)
}

// A damaged body that is encrypted is healed like others, and stays encrypted.
func TestEncryptedBodyIsHealed(t *testing.T) {
	t.Parallel()
	keys := newKeyring(t, newKey(t))
	c := startNodes(t, 3, func(cfg *Config) {
		segmentsEverywhere(cfg)
		cfg.Log.Encryption.Keys = keys
	})
	c.create(0, fifo)
	c.sendBodies(0, 0, 40)
	c.agree()
	c.snapshotAll()
	leader := c.agreedLeader() // the one whose disk is read
	for at := int64(1000); at < 28_000; at += 9000 {
		clustertest.FlipBit(t, c.segmentFiles(leader)[0], at)
	}
	c.takeBodies(leader, 0, 40)
	if stats := c.nodes[leader].process.bodies.Stats(); stats.Damaged == 0 || stats.Healed != stats.Damaged {
		t.Errorf("%+v", stats)
	}
}

// An encryption attribute is accepted only if it is true of every node.
func TestEncryptionIsNotClaimedInVain(t *testing.T) {
	t.Parallel()
	keys := newKeyring(t, newKey(t))
	asks := map[string]queue.Command{
		"a queue with a key of KMS": &queue.CreateQueue{Queue: "k",
			Attributes: []queue.Attribute{{Name: "KmsMasterKeyId", Value: "k"}}},
		"a topic with a key of KMS": &queue.CreateTopic{Topic: "k", TopicARN: "arn:aws:sns:us-east-1:000000000000:k",
			Attributes: []queue.Attribute{{Name: "KmsMasterKeyId", Value: "k"}}},
		"a queue with encryption": &queue.CreateQueue{Queue: "e",
			Attributes: []queue.Attribute{{Name: "SqsManagedSseEnabled", Value: "true"}}},
		"encryption of a queue": &queue.SetQueueAttributes{Queue: standard,
			Attributes: []queue.Attribute{{Name: "SqsManagedSseEnabled", Value: "true"}}},
		"a queue without encryption": &queue.CreateQueue{Queue: "p",
			Attributes: []queue.Attribute{{Name: "SqsManagedSseEnabled", Value: "false"}}},
		"a queue that has no key of KMS": &queue.CreateQueue{Queue: "n",
			Attributes: []queue.Attribute{{Name: "KmsMasterKeyId", Value: ""}}},
	}
	c := startNodes(t, 2, func(cfg *Config) {
		if cfg.NodeName == "n1" {
			cfg.Log.Encryption.Keys = keys
		}
	})
	c.create(0, standard)
	taken := func(i int, what string) bool {
		t.Helper()
		_, err := c.nodes[i].Submit(clustertest.Context(t), asks[what])
		var refused *queue.Error
		if err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		return err == nil
	}
	for _, what := range []string{"a queue with a key of KMS", "a topic with a key of KMS", "a queue with encryption",
		"encryption of a queue"} {
		if taken(0, what) || taken(1, what) {
			t.Errorf("%s was accepted", what)
		}
	}
	for _, what := range []string{"a queue without encryption", "a queue that has no key of KMS"} {
		if !taken(0, what) {
			t.Errorf("%s was refused", what)
		}
	}
	if c.nodes[0].EncryptsAtRest() || c.nodes[1].EncryptsAtRest() {
		t.Error("a cluster of which one node encrypts says that all do")
	}
	c.close(1)
	c.configs[1].Log.Encryption.Keys = keys
	c.open(1)
	c.waitReady(1)
	c.waitFor("both nodes to say that they encrypt", func() bool { return c.nodes[0].EncryptsAtRest() && c.nodes[1].EncryptsAtRest() })
	if taken(0, "a queue with a key of KMS") || !taken(0, "a queue with encryption") || !taken(1, "encryption of a queue") {
		t.Error("a cluster that encrypts refuses to say so, or has keys of KMS")
	}
}
