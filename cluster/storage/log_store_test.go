package storage

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// storeHarness opens and reopens the log of one data directory.
type storeHarness struct {
	t       *testing.T
	options LogOptions
	path    string
	dir     *Dir
	log     *LogStore
	keys    *encryption.Keyring // nil: unencrypted
	record  *clustertest.FatalRecord
}

func testLogOptions(store string) LogOptions {
	return LogOptions{
		Store: store, SegmentBytes: 64 << 10, CacheBytes: 32 << 20, TrailingBytes: 256 << 20, SnapshotBytes: 256 << 20,
		Opened: time.Unix(1_700_000_000, 0), Logger: hclog.NewNullLogger(),
	}
}

func newStoreHarness(t *testing.T, store string) *storeHarness {
	t.Helper()
	h := &storeHarness{t: t, path: t.TempDir()}
	h.options = testLogOptions(store)
	clustertest.Must(t, h.open())
	t.Cleanup(h.close)
	return h
}

// open opens and verifies the log, as a group does.
func (h *storeHarness) open() error {
	h.record = clustertest.NewFatalRecord()
	guard := NewDiskGuard(time.Minute, h.record.Fatal, nil)
	dir, err := OpenDir(h.path, "a", rand.Reader)
	if err != nil {
		return err
	}
	h.dir, dir.Keys = dir, h.keys
	group := openTestGroup(h.t, dir, 0)
	marked := group.HasLog()
	log, err := OpenLogStore(group, guard, h.options)
	if err != nil {
		h.dir.Close()
		return err
	}
	h.log = log
	if _, err := log.Verify(0, marked, func(*raft.Log) error { return nil }); err != nil {
		h.close()
		return err
	}
	return nil
}

func (h *storeHarness) close() {
	if h.log == nil {
		return
	}
	clustertest.Check(h.t, errors.Join(h.log.Close(), h.dir.Close()))
	h.log = nil
}

func (h *storeHarness) reopen() error {
	h.close()
	return h.open()
}

func (h *storeHarness) store(from, to uint64) {
	h.t.Helper()
	clustertest.Must(h.t, h.log.StoreLogs(testLogs(from, to)))
}

// want checks that exactly these entries exist, with their content.
func (h *storeHarness) want(first, last uint64) {
	h.t.Helper()
	gotFirst, err1 := h.log.FirstIndex()
	gotLast, err2 := h.log.LastIndex()
	if err := errors.Join(err1, err2); err != nil || gotFirst != first || gotLast != last {
		h.t.Fatalf("entries %d to %d (%v), want %d to %d", gotFirst, gotLast, err, first, last)
	}
	for index := first; index <= last && last > 0; index++ {
		var got raft.Log
		clustertest.Must(h.t, h.log.GetLog(index, &got))
		want := *testLogs(index, index)[0]
		got.AppendedAt = want.AppendedAt
		if diff := cmp.Diff(want, got); diff != "" {
			h.t.Fatalf("entry %d: %s", index, diff)
		}
	}
	var none raft.Log
	if err := h.log.GetLog(last+1, &none); !errors.Is(err, raft.ErrLogNotFound) {
		h.t.Fatalf("after the last entry: %v", err)
	}
}

func testLogs(from, to uint64) []*raft.Log {
	var logs []*raft.Log
	for index := from; index <= to; index++ {
		entry := &raft.Log{Index: index, Term: 1 + index/10, Type: raft.LogCommand,
			Data: bytes.Repeat([]byte(fmt.Sprintf("entry %04d;", index)), 20)}
		if index%3 == 0 {
			entry.Extensions = []byte("of another layer")
		}
		if index%7 == 0 {
			entry.Type, entry.Data = raft.LogNoop, nil
		}
		logs = append(logs, entry)
	}
	return logs
}

func TestLogStoreKeepsEntries(t *testing.T) {
	clustertest.BothStores(t, func(t *testing.T, store string) {
		h := newStoreHarness(t, store)
		if !h.log.IsMonotonic() {
			t.Fatal("the library would keep contradicting entries after a snapshot (raft issue 697)")
		}
		h.want(0, 0)
		h.store(1, 30)
		h.want(1, 30) // from the cache
		clustertest.Must(t, h.reopen())
		h.want(1, 30) // from disk, without checksums
		h.store(31, 400)
		clustertest.Must(t, h.log.DeleteRange(1, 250))
		h.want(251, 400)
		clustertest.Must(t, h.log.DeleteRange(300, 400))
		h.want(251, 299)
		h.store(300, 310)
		h.want(251, 310)
	})
}

func TestLogStoreMayBeEmptiedAfterASnapshot(t *testing.T) {
	clustertest.BothStores(t, func(t *testing.T, store string) {
		h := newStoreHarness(t, store)
		h.store(1, 20)
		clustertest.Must(t, h.log.DeleteRange(1, 20))
		h.want(0, 0)
		h.store(50, 60) // after the installed snapshot
		h.want(50, 60)
		h.close()
		err := h.open()
		if codes, _ := h.record.All(); !errors.Is(err, ErrLostData) || !slices.Equal(codes, []fault.ExitCode{fault.ExitLostData}) {
			t.Fatalf("a log that begins at 50 without a snapshot was accepted: %v, %v", err, codes)
		}
	})
}

func TestLogStoreRefusesDamage(t *testing.T) {
	tests := []struct {
		name   string
		stores []string
		damage func(t *testing.T, h *storeHarness)
		code   fault.ExitCode
		names  string // in the error
	}{
		{"a flipped bit in an entry", []string{LogStoreWAL, LogStoreBoltDB}, func(t *testing.T, h *storeHarness) {
			clustertest.FlipBitIn(t, h.path, "entry 0025;")
		}, fault.ExitChecksum, "log"},
		{"a flipped bit in the extensions", []string{LogStoreWAL, LogStoreBoltDB}, func(t *testing.T, h *storeHarness) {
			clustertest.FlipBitIn(t, h.path, "of another layer")
		}, fault.ExitChecksum, "log"},
		{"a log that was cut short", []string{LogStoreWAL}, func(t *testing.T, h *storeHarness) {
			segments, err := filepath.Glob(filepath.Join(h.path, GroupDirName(0), WALName, "*.wal"))
			if err != nil || len(segments) == 0 {
				t.Fatal(segments, err)
			}
			zeroFrom(t, segments[len(segments)-1], "entry 0038;")
		}, fault.ExitChecksum, WALName},
		{"a database that was cut short", []string{LogStoreBoltDB}, func(t *testing.T, h *storeHarness) {
			clustertest.Must(t, os.Truncate(filepath.Join(h.path, GroupDirName(0), BoltName), 8<<10))
		}, fault.ExitChecksum, BoltName},
		{"the log removed", []string{LogStoreWAL}, func(t *testing.T, h *storeHarness) {
			clustertest.RemoveFile(t, filepath.Join(h.path, GroupDirName(0), WALName))
		}, fault.ExitLostData, WALName},
		{"the database removed", []string{LogStoreBoltDB}, func(t *testing.T, h *storeHarness) {
			clustertest.RemoveFile(t, filepath.Join(h.path, GroupDirName(0), BoltName))
		}, fault.ExitLostData, BoltName},
		{"the end mark removed", []string{LogStoreWAL}, func(t *testing.T, h *storeHarness) {
			clustertest.RemoveFile(t, filepath.Join(h.path, GroupDirName(0), logMarkName))
		}, fault.ExitLostData, logMarkName},
		{"the end mark damaged", []string{LogStoreWAL}, func(t *testing.T, h *storeHarness) {
			clustertest.FlipBit(t, filepath.Join(h.path, GroupDirName(0), logMarkName), 9)
		}, fault.ExitChecksum, logMarkName},
	}
	for _, test := range tests {
		for _, store := range test.stores {
			t.Run(test.name+"/"+store, func(t *testing.T) {
				h := newStoreHarness(t, store)
				h.store(1, 40)
				h.close()
				test.damage(t, h)
				err := h.open()
				codes, _ := h.record.All()
				if err == nil || !slices.Equal(codes, []fault.ExitCode{test.code}) {
					t.Fatalf("got %v, exit codes %v, want %d", err, codes, test.code)
				}
				if !strings.Contains(err.Error(), filepath.Join(h.path, GroupDirName(0), test.names)) ||
					!strings.Contains(err.Error(), "new member") {
					t.Errorf("the message does not name the file and say what to do: %v", err)
				}
			})
		}
	}
}

func TestLogStoreRefusesTheOtherStoresDirectory(t *testing.T) {
	h := newStoreHarness(t, LogStoreBoltDB)
	h.store(1, 3)
	h.close()
	h.options.Store = LogStoreWAL
	if err := h.open(); err == nil || !strings.Contains(err.Error(), BoltName) {
		t.Fatalf("got %v", err)
	}
}

// brokenBackend is a log store whose disk fails.
type brokenBackend struct {
	logBackend
	err error
}

func (b *brokenBackend) StoreLogs([]*raft.Log) error { return b.err }

func TestLogStoreEndsAfterAFailedAppend(t *testing.T) {
	h := newStoreHarness(t, LogStoreWAL)
	h.store(1, 3)
	sound := h.log.backend
	h.log.backend = &brokenBackend{logBackend: sound, err: syscall.EIO}
	if err := h.log.StoreLogs(testLogs(4, 5)); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	h.log.backend = sound // the kernel may report the next sync as successful
	if err := h.log.StoreLogs(testLogs(4, 5)); !errors.Is(err, syscall.EIO) {
		t.Fatalf("an append after the failed one: %v", err)
	}
	if codes, _ := h.record.All(); !slices.Equal(codes, []fault.ExitCode{fault.ExitDiskError}) {
		t.Fatalf("exit codes %v", codes)
	}
	clustertest.Must(t, h.reopen())
	h.want(1, 3)
}

func TestEntryChecksumCoversEveryField(t *testing.T) {
	change := map[string]func(*raft.Log){
		"index":      func(l *raft.Log) { l.Index++ },
		"term":       func(l *raft.Log) { l.Term++ },
		"type":       func(l *raft.Log) { l.Type = raft.LogBarrier },
		"data":       func(l *raft.Log) { l.Data[3] ^= 4 },
		"extensions": func(l *raft.Log) { l.Extensions[0] ^= 1 },
		"cut":        func(l *raft.Log) { l.Extensions = l.Extensions[:3] },
		"moved":      func(l *raft.Log) { l.Data, l.Extensions = l.Data[:9], append([]byte{l.Data[9]}, l.Extensions...) },
	}
	for name, damage := range change {
		t.Run(name, func(t *testing.T) {
			sealed := new(entrySealer).seal([]*raft.Log{{Index: 9, Term: 2, Data: []byte("0123456789"), Extensions: []byte("x")}})[0]
			damage(sealed)
			if err := new(entrySealer).unseal(9, sealed); !errors.Is(err, ErrDamaged) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestLogCacheHoldsTheNewestWithinItsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 4000).Draw(t, "limit")
		cache := &logCache{limit: limit}
		next := uint64(1)
		var entries []*raft.Log
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				entry := &raft.Log{Index: next, Data: make([]byte, rapid.IntRange(0, 1000).Draw(t, "bytes"))}
				entries = append(entries, entry)
				cache.add([]*raft.Log{entry})
				next++
			},
			"jump":   func(*rapid.T) { entries = nil; next += 10 },
			"forget": func(*rapid.T) { entries = nil; cache.forget() },
			"": func(t *rapid.T) {
				held, bytes := 0, 0
				for i, entry := range entries {
					var got raft.Log
					if cache.get(entry.Index, &got) {
						held++
						bytes += EntryBytes(entry)
						if got.Index != entry.Index || len(got.Data) != len(entry.Data) {
							t.Fatalf("entry %d came back as another", entry.Index)
						}
					} else if held > 0 {
						t.Fatalf("entry %d is missing after entry %d", entry.Index, entries[i-1].Index)
					}
				}
				if bytes > limit {
					t.Fatalf("%d bytes are held, the limit is %d", bytes, limit)
				}
				if n := len(entries); n > 0 && EntryBytes(entries[n-1]) <= limit && held == 0 {
					t.Fatal("the newest entry is not held")
				}
			},
		})
	})
}

func TestLogSizesTrailing(t *testing.T) {
	sizes := newLogSizes(1600) // points every 100 bytes
	for index := uint64(1); index <= 100; index++ {
		sizes.add(index, 50)
	}
	tests := []struct{ bytes, least, most int64 }{
		{0, 0, 2}, {100, 0, 2}, {1000, 16, 20}, {4950, 95, 100}, {1 << 40, 100, 100},
	}
	for _, test := range tests {
		if got := int64(sizes.trailing(100, test.bytes)); got < test.least || got > test.most {
			t.Errorf("trailing %d bytes: %d entries, want %d to %d", test.bytes, got, test.least, test.most)
		}
	}
	sizes.forgetBefore(60)
	sizes.forgetFrom(81)
	if got := sizes.trailing(80, 1<<40); got != 80 {
		t.Errorf("after shortening: %d", got)
	}
}

// zeroFrom overwrites a file with zeros from the first occurrence of text on, like an unwritten
// part of a preallocated file.
func zeroFrom(t *testing.T, path, text string) {
	t.Helper()
	content, err := os.ReadFile(path)
	clustertest.Must(t, err)
	offset := bytes.Index(content, []byte(text))
	if offset < 0 {
		t.Fatalf("%q is not in %s", text, path)
	}
	clear(content[offset-64:])
	clustertest.Must(t, os.WriteFile(path, content, 0o600))
}

// replacedMeanwhile is a log in which an entry is replaced after a reader found none.
type replacedMeanwhile struct {
	logBackend
	replace func()
}

func (b *replacedMeanwhile) GetLog(index uint64, entry *raft.Log) error {
	err := b.logBackend.GetLog(index, entry)
	if errors.Is(err, raft.ErrLogNotFound) && b.replace != nil {
		b.replace()
		b.replace = nil
	}
	return err
}

// A replaced leader reads entries to send while the next leader replaces them: that is no damage.
func TestLogStoreIsReadWhileEntriesAreReplaced(t *testing.T) {
	clustertest.BothStores(t, func(t *testing.T, store string) {
		h := newStoreHarness(t, store)
		defer h.close()
		h.store(1, 10)
		clustertest.Must(t, h.log.DeleteRange(6, 10))
		h.log.backend = &replacedMeanwhile{h.log.backend, func() { h.store(6, 10) }}
		var entry raft.Log
		if err := h.log.GetLog(10, &entry); err != nil || entry.Index != 10 {
			t.Errorf("%v, %v", err, entry.Index)
		}
		if codes, errs := h.record.All(); len(codes) > 0 {
			t.Errorf("the node ended: %v", errs)
		}
	})
}
