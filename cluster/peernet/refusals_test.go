package peernet

import (
	"crypto/rand"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/hostlimit"
)

// lines is a log that a test reads concurrently.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// All refusals are counted. Log lines are rare and include the count.
func TestRefusalsAreCountedAndSeldomLogged(t *testing.T) {
	hand, log := clustertest.NewHandClock(1), &lines{}
	own, foreign := clustertest.NewAuthority(t, rand.Reader), clustertest.NewAuthority(t, rand.Reader)
	b := newTestNetwork(t, "b-2", "c", func(o *Options) {
		o.TLS, o.Clock, o.Logger = node(t, own), hand, slog.New(slog.NewTextHandler(log, nil))
	})
	count := func(why string) (count uint64) {
		b.Refusals(func(name string, n uint64) {
			if name == why {
				count = n
			}
		})
		return count
	}
	unauthenticated := secureNetwork(t, "a-1", node(t, foreign))
	unauthenticated.book.Note("b-2", b.BoundAddr(), 1)
	elsewhere := newTestNetwork(t, "a-1", "d", func(o *Options) { o.TLS = node(t, own) })
	elsewhere.book.Note("b-2", b.BoundAddr(), 1)
	const times = 5
	for round := 1; round <= 2; round++ {
		for range times {
			for _, from := range []*Network{unauthenticated, elsewhere} {
				if conn, err := from.Dial(clustertest.Context(t), "b-2", KindConsensus, 0); err == nil {
					conn.Close()
					t.Fatal("it got in")
				}
			}
			conn, err := net.Dial("tcp", b.BoundAddr())
			clustertest.Must(t, err)
			conn.Close()
		}
		for _, why := range []string{"handshake", "objection", "silent"} {
			awaitTrue(t, why+" to be counted", func() bool { return count(why) == uint64(round*times) })
		}
		awaitTrue(t, "a line of each kind", func() bool { return log.count("level=") >= 3*round })
		hand.Pass(hostlimit.Pause)
	}
	if got := log.count("level="); got != 6 {
		t.Errorf("%d lines\n%s", got, log.text.String())
	}
	if got := log.count("more_since_last=4"); got != 3 {
		t.Errorf("%d lines say how many were not logged\n%s", got, log.text.String())
	}
}

func awaitTrue(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(clustertest.Timeout); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waiting for %s took too long", what)
		}
	}
}
