package logcheck

import (
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// place has the digests of an entry from the first tap that contains it.
type place struct {
	print  uint64 // of everything in the entry
	state  uint64 // of its state hash only
	offset int64
	bytes  int64
	tap    int  // the number of the tap in the list, plus one; 0: no tap has the entry
	empty  bool // no commands
}

// log is the union of the taps.
type log struct {
	dir   string
	taps  []*tap
	begin uint64  // index of all[0]
	end   uint64  // highest index that a tap has
	all   []place // by index
	seed  maphash.Seed
}

func newLog(dir string) log { return log{dir: filepath.Join(dir, "taps"), seed: maphash.MakeSeed()} }

// open opens new taps: a node that joins begins one.
func (l *log) open() error {
	paths, err := filepath.Glob(filepath.Join(l.dir, "*.jsonl"))
	if err != nil {
		return fmt.Errorf("look for taps: %w", err)
	}
	for _, path := range paths {
		node := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		if slices.ContainsFunc(l.taps, func(t *tap) bool { return t.node == node }) {
			continue
		}
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("open a tap: %w", err)
		}
		l.taps = append(l.taps, &tap{node: node, file: file})
	}
	return nil
}

func (l *log) close() {
	for _, t := range l.taps {
		// Nothing was written.
		_ = t.file.Close()
	}
}

func (l *log) at(index uint64) *place {
	if index < l.begin || index-l.begin >= uint64(len(l.all)) {
		return nil
	}
	if p := &l.all[index-l.begin]; p.tap != 0 {
		return p
	}
	return nil
}

// put stores the entry at an index.
func (l *log) put(index uint64, p place) {
	if len(l.all) == 0 {
		l.begin = index
	}
	if index < l.begin {
		l.all = append(make([]place, l.begin-index), l.all...)
		l.begin = index
	}
	for index-l.begin >= uint64(len(l.all)) {
		l.all = append(l.all, place{})
	}
	l.all[index-l.begin] = p
	l.end = max(l.end, index)
}

func (l *log) load(index uint64) (entry, error) {
	p := l.at(index)
	return l.taps[p.tap-1].load(p.offset, p.bytes)
}

func (l *log) hash(parts ...[]byte) uint64 {
	var h maphash.Hash
	h.SetSeed(l.seed)
	for _, p := range parts {
		maphash.WriteComparable(&h, len(p))
		// It cannot fail.
		_, _ = h.Write(p)
	}
	return h.Sum64()
}

// placeOf returns the digests of an entry.
func (l *log) placeOf(tap int, e *entry) place {
	parts := [][]byte{fmt.Append(nil, e.first().Term, " ", e.last().Hash)}
	for i := range e.lines {
		x := &e.lines[i]
		parts = append(parts, fmt.Append(nil, x.AtMs, " ", x.Op, " ", x.Kind), x.Command, x.Answer)
	}
	return place{
		print: l.hash(parts...), state: l.hash([]byte(e.last().Hash)), offset: e.offset, bytes: e.bytes,
		tap: tap + 1, empty: e.first().Kind != "",
	}
}

// changedBy returns the index of the last entry with commands up to index. A read at either index
// sees the same state.
func (l *log) changedBy(index uint64) uint64 {
	for at := index; at >= l.begin && at > 0; at-- {
		if p := l.at(at); p != nil && !p.empty {
			return at
		}
	}
	return index
}

// stateAt returns the last entry with commands up to index, because a snapshot may be at an entry
// without commands.
func (l *log) stateAt(index uint64) *place {
	for ; index >= l.begin && len(l.all) > 0; index-- {
		if p := l.at(index); p != nil && !p.empty {
			return p
		}
	}
	return nil
}
