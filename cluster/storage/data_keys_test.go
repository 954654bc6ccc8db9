package storage

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// keyedDir is a data directory whose keys change.
type keyedDir struct {
	t    *testing.T
	dir  *Dir
	keys map[string][]byte // by a name for the test
}

func newKeyedDir(t *testing.T) *keyedDir {
	t.Helper()
	k := &keyedDir{t: t, keys: map[string][]byte{}}
	for _, name := range []string{"old", "next", "last"} {
		key, err := encryption.DrawKey(rand.Reader)
		clustertest.Must(t, err)
		k.keys[name] = key
	}
	k.dir = &Dir{Path: t.TempDir(), Keys: k.ring("old")}
	return k
}

func (k *keyedDir) ring(names ...string) *encryption.Keyring {
	k.t.Helper()
	var keys [][]byte
	for _, name := range names {
		keys = append(keys, k.keys[name])
	}
	r, err := encryption.NewKeyring(rand.Reader, keys...)
	clustertest.Must(k.t, err)
	return r
}

func (k *keyedDir) id(name string) encryption.KeyID { return k.ring(name).Active() }

// needed returns the names of the keys that the directory needs with these files. It checks that a
// start without any of them is refused.
func (k *keyedDir) needed(files Files) string {
	k.t.Helper()
	uses, plain, err := k.dir.ForgetKeys(files)
	clustertest.Must(k.t, err)
	var needed []string
	for _, name := range []string{"old", "next", "last"} {
		if slices.ContainsFunc(uses, func(u KeyUse) bool { return u.ID == k.id(name) }) {
			needed = append(needed, name)
		}
		others := slices.DeleteFunc([]string{"old", "next", "last"}, func(other string) bool { return other == name })
		refused := CheckKeys(k.dir.Path, k.ring(others...)) != nil
		if refused != slices.Contains(needed, name) {
			k.t.Errorf("without the key %s a start is refused: %v", name, refused)
		}
	}
	if plain > 0 {
		needed = append(needed, fmt.Sprintf("plain to %d", plain))
	}
	return strings.Join(needed, ", ")
}

func (k *keyedDir) must(err error) {
	k.t.Helper()
	clustertest.Must(k.t, err)
}

func (k *keyedDir) want(files Files, want string) {
	k.t.Helper()
	if got := k.needed(files); got != want {
		k.t.Errorf("needed are %q, want %q", got, want)
	}
}

// A key is needed while the log, a snapshot or a segment may be encrypted with it. The active one
// is always needed.
func TestKeysAreForgotten(t *testing.T) {
	k := newKeyedDir(t)
	const first = 1 << 31
	changed, err := k.dir.NoteKey(first, false)
	if k.must(err); !changed {
		t.Error("the first key is nothing new")
	}
	log := func(names ...string) map[encryption.KeyID]uint64 {
		list := map[encryption.KeyID]uint64{}
		for i, name := range names {
			list[k.id(name)] = uint64(i + 1)
		}
		return list
	}
	k.want(Files{}, "old")
	// While the node runs, another key starts to encrypt, in the current segment.
	k.must(k.dir.BeginKey(k.id("next"), first+1))
	k.dir.Keys.Replace(k.ring("next", "old"))
	k.must(k.dir.EndKeys(k.id("next"), first+2))
	k.want(Files{Segments: []uint32{first + 1, first + 2}}, "old, next")
	k.want(Files{Log: log("old")}, "old, next")
	k.want(Files{Snapshots: map[encryption.KeyID]int{k.id("old"): 1}}, "old, next")
	// A body of an early segment is rewritten with the later key.
	k.must(k.dir.NoteHealing(k.id("next"), first))
	k.must(k.dir.BeginKey(k.id("last"), first+9))
	k.dir.Keys.Replace(k.ring("last", "next", "old"))
	k.must(k.dir.EndKeys(k.id("last"), first+10))
	k.want(Files{Segments: []uint32{first}}, "old, next, last")
	k.want(Files{Segments: []uint32{first + 5}}, "next, last")
	k.want(Files{Segments: []uint32{first + 20}}, "last")
	// A restart changes nothing.
	changed, err = k.dir.NoteKey(first+30, true)
	if k.must(err); changed {
		t.Error("the active key was noted as a new one")
	}
	k.want(Files{Segments: []uint32{first + 20}}, "last")
	// Files that a tool wrote while the node was stopped count without a record.
	k.want(Files{Log: log("old")}, "old, last")
}

// A directory that was unencrypted, or whose record is lost, may be encrypted with any key, and its
// log may be unencrypted.
func TestKeysOfAnUnknownDirectory(t *testing.T) {
	k := newKeyedDir(t)
	const first = 1<<31 + 7
	k.dir.Keys = k.ring("next", "old")
	_, err := k.dir.NoteKey(first, true)
	k.must(err)
	k.want(Files{Segments: []uint32{first - 1}, LogBegins: 5, LogEnds: 90}, "old, next, plain to 90")
	k.want(Files{Segments: []uint32{first}, LogBegins: 90, LogEnds: 200}, "next, plain to 90")
	k.want(Files{LogBegins: 91, LogEnds: 200}, "next")
	k.want(Files{LogBegins: 1, LogEnds: 200}, "next")
}
