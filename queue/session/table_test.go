package session

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// TestTableAgainstAMap puts, unlocks and clears sessions at random, and compares orders and sums
// with a map and with copies.
func TestTableAgainstAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	var k statehash.Key
	table, known := New(3), map[string]Record{}
	type copied struct {
		table Table
		want  []Record
	}
	var copies []copied
	all := func(t *Table) (list []Record) {
		t.Scan(func(r *Record) bool { list = append(list, *r); return true })
		return list
	}
	for step := range 3000 {
		name := fmt.Sprint("s", random.IntN(20))
		r := known[name]
		r.Name = name
		switch random.IntN(4) {
		case 0:
			r.Lock, r.LockedUntil, r.Next, r.AttemptID = table.NewLock(), logtime.Timestamp(random.IntN(50)), 0, ""
			if random.IntN(2) == 0 {
				r.AttemptID = fmt.Sprint("attempt", r.Lock)
			}
		case 1:
			table.Unlock(k, name)
			r = r.unlocked()
		case 2:
			r.State, r.StateGiven, r.StateSetAt = fmt.Sprint(step), true, logtime.Timestamp(random.IntN(50))
		case 3:
			r.State, r.StateGiven, r.StateSetAt = "", false, 0
		}
		table.Put(k, r)
		if delete(known, name); !r.empty() {
			known[name] = r
		}
		if random.IntN(100) == 0 {
			copies = append(copies, copied{table, all(&table)})
			table = table.Clone()
		}
		compare(t, &table, known)
		attempts := 0
		table.Scan(func(r *Record) bool {
			if r.AttemptID != "" {
				attempts++
			}
			return true
		})
		if attempts != table.byAttempt.Len() {
			t.Fatalf("%d sessions have attempt ids, %d are known", attempts, table.byAttempt.Len())
		}
		if table.Sum() != table.ComputeSum(k) {
			t.Fatal("the sum is not that of the records")
		}
	}
	for i, c := range copies {
		if !slices.Equal(all(&c.table), c.want) {
			t.Errorf("copy %d has changed", i)
		}
	}
	for name := range known {
		table.Put(k, Record{Name: name})
	}
	if table.Len() != 0 || table.byAttempt.Len() != 0 || table.Locks() != 0 || table.Bytes() != 0 || table.Sum() != (statehash.Sum{}) {
		t.Errorf("%d sessions, %d locks, %d bytes are left", table.Len(), table.Locks(), table.Bytes())
	}
}

func compare(t *testing.T, table *Table, known map[string]Record) {
	t.Helper()
	locks, states, bytes := 0, []Position(nil), int64(0)
	first := Position{At: 1000}
	for name, want := range known {
		if got, ok := table.Get(name); !ok || *got != want {
			t.Fatalf("session %s is %+v, want %+v", name, got, want)
		}
		bytes += want.size()
		if got, ok := table.OfAttempt(want.AttemptID); want.AttemptID != "" && (!ok || *got != want) {
			t.Fatalf("the attempt of session %s is that of %+v", name, got)
		}
		if want.Lock != 0 {
			locks++
			if end := (Position{want.LockedUntil, name}); end.less(first) {
				first = end
			}
		}
		if want.StateGiven {
			states = append(states, Position{want.StateSetAt, name})
		}
	}
	slices.SortFunc(states, func(a, b Position) int {
		if a.less(b) {
			return -1
		}
		return 1
	})
	if _, ok := table.OfAttempt(""); ok {
		t.Fatal("a session has an empty attempt id")
	}
	if end, some := table.FirstEnd(); table.Len() != len(known) || table.Locks() != locks || some && end != first ||
		table.Bytes() != bytes {
		t.Fatalf("%d sessions, %d locks, first end %v, %d bytes; want %d, %d, %v, %d", table.Len(), table.Locks(), end, table.Bytes(),
			len(known), locks, first, bytes)
	}
	var listed []Position
	for page := (Position{}); ; {
		before := len(listed)
		table.WithState(page, func(r *Record) bool {
			listed = append(listed, Position{r.StateSetAt, r.Name})
			return len(listed)-before < 3
		})
		if len(listed) == before {
			break
		}
		page = listed[len(listed)-1]
	}
	if !slices.Equal(listed, states) {
		t.Fatalf("listed %v, want %v", listed, states)
	}
}

// TestClaims: messages in flight end with their lock, and stay with a renewed one.
func TestClaims(t *testing.T) {
	var k statehash.Key
	table := New(1)
	lock := Record{Name: "a", Lock: table.NewLock(), LockedUntil: 10, Next: 5}
	table.Put(k, lock)
	table.Put(k, Record{Name: "b", Lock: table.NewLock(), LockedUntil: 10})
	table.Claim("a", 1)
	table.Claim("a", 1)
	table.Claim("b", 1)
	for _, sequence := range []uint64{4, 2, 7} {
		table.Return("a", sequence)
	}
	returned := func() (all []uint64) {
		table.Returned("a", func(sequence uint64) bool { all = append(all, sequence); return true })
		return all
	}
	if got := returned(); !slices.Equal(got, []uint64{2, 4}) {
		t.Errorf("given back %v, of which 7 was never delivered", got)
	}
	table.Unreturn("a", 2)
	lock.LockedUntil = 20
	table.Put(k, lock)
	if table.InFlight() != 3 || table.InFlightOf("a") != 2 || !slices.Equal(returned(), []uint64{4}) {
		t.Errorf("after a renewal %d in flight, %d of them in a, %v given back", table.InFlight(), table.InFlightOf("a"), returned())
	}
	if first, again := table.TakeWoken(), table.TakeWoken(); !slices.Equal(first, []string{"a"}) || again != nil {
		t.Errorf("%v and then %v are to be told, want the holder of a once", first, again)
	}
	if !table.Locked("a") || !table.HasLock("a", 1) || table.HasLock("a", 2) || table.Locked("c") {
		t.Error("the locks are wrong")
	}
	table.Unlock(k, "a")
	if woken := table.TakeWoken(); !slices.Equal(woken, []string{"a"}) {
		t.Errorf("%v are told of the end of the lock of a", woken)
	}
	if table.InFlight() != 1 || table.InFlightOf("a") != 0 || returned() != nil || table.Locked("a") {
		t.Errorf("after the lock %d in flight, %d of them in a, %v given back", table.InFlight(), table.InFlightOf("a"), returned())
	}
	table.ForgetMessages()
	if table.InFlight() != 0 || table.InFlightOf("b") != 0 || !table.Locked("b") {
		t.Errorf("without messages %d are in flight", table.InFlight())
	}
}

// TestClaimsKeepNoMessages: a lock outlives the messages received under it, whose texts may share
// memory with many others.
func TestClaimsKeepNoMessages(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var k statehash.Key
	table, before := New(1), heap()
	const locks, size = 16, 1 << 20
	for i := range locks {
		name := fmt.Sprintf("session%02d", i)
		table.Put(k, Record{Name: name, Lock: table.NewLock(), LockedUntil: 10})
		shared := name + strings.Repeat("x", size)
		table.Claim(shared[:len(name)], 1)
		table.Claim(shared[:len(name)], -1)
	}
	if grown := heap() - before; grown > locks*size/2 {
		t.Errorf("%d locks keep %d KiB", locks, grown>>10)
	}
	runtime.KeepAlive(&table)
}
