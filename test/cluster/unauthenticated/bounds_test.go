package unauthenticated

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/attacker"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

// TestUnauthenticatedCallersCostLittle checks that connections without credentials at the client
// and the admin port are bounded, counted by reason and rarely logged, and that no call of a
// client fails.
func TestUnauthenticatedCallersCostLittle(t *testing.T) {
	c := start(t)
	signed := startClients(t, c, 2)
	plain, secure := c.Nodes[1], c.Nodes[2]
	files, routines := measured(t, plain, "process_open_fds"), measured(t, plain, "go_goroutines")
	began := time.Now()
	a, b := caller{attacker.New(9)}, caller{attacker.New(10)}
	defer a.HangUp()
	defer b.HangUp()
	var trying sync.WaitGroup
	trying.Go(func() { // more than one address may have, stopped at each step of a request
		a.Hold(plain.Client, perAddress/2, halfHeader)
		a.Hold(plain.Client, perAddress/2, halfBody)
		a.Hold(plain.Client, perAddress/4, "")
	})
	trying.Go(func() { a.Hold(plain.Admin, perAddress, halfHeader) })
	trying.Go(func() { a.shakeHands(t.Context(), secure.Client, perAddress/4) })
	trying.Wait()
	await(t, "one address to be refused", func() bool {
		a.Hold(plain.Client, perAddress/4, whole) // displaces silent connections, and then exceeds the limit
		return refused(t, plain, "client", "address") > 0
	})
	await(t, "a handshake to fail", func() bool { return refused(t, secure, "client", "handshake") > 0 })
	b.Hold(plain.Client, perAddress, "") // with those of a, more than the port permits
	await(t, "silent connections to give way", func() bool { return refused(t, plain, "client", "room") > 0 })
	held, busy := measured(t, plain, "process_open_fds"), measured(t, plain, "go_goroutines")
	// One connection may be just being accepted, and clients and other nodes open some.
	if most := files + connectionsMax + perAddress + 50; held > most {
		t.Errorf("%v files are open, at most %v are expected; before there were %v", held, most, files)
	}
	if most := routines + 4*(connectionsMax+perAddress) + 100; busy > most {
		t.Errorf("%v goroutines run, at most %v are expected; before there were %v", busy, most, routines)
	}
	signed.awaitCalls(100)
	await(t, "silence to end connections", func() bool { return refused(t, plain, "client", "silent") > 0 })
	a.HangUp()
	b.HangUp()

	a.openStreams(plain.Client, 3, 200)
	await(t, "streams to be refused", func() bool { return refused(t, plain, "client", "streams") > 0 })
	if busy := measured(t, plain, "go_goroutines"); busy > routines+streamsMax+100 {
		t.Errorf("%v goroutines run beside %d streams; before there were %v", busy, streamsMax, routines)
	}
	a.HangUp()
	for _, one := range floods {
		trying.Go(func() { b.flood(plain.Client, 15_000, one) })
	}
	for _, n := range c.Nodes {
		trying.Go(func() { b.sendMalformed(n.Client) })
		trying.Go(func() { b.sendMalformed(n.Admin) })
	}
	trying.Go(func() { b.ignoreAnswers(plain.Client) })
	trying.Wait()
	await(t, "floods to be ended", func() bool { return refused(t, plain, "client", "flood") > 0 })
	b.HangUp()
	signed.awaitCalls(100)
	signed.finish()
	for _, n := range c.Nodes[1:] { // the first node gets no long connections
		checkLog(t, n, time.Since(began))
		if panics := measured(t, n, "seriatim_client_panics_total"); panics > 0 {
			t.Errorf("%s has panicked %v times", n.Name, panics)
		}
	}
	await(t, "the places to be free again", func() bool { return measured(t, plain, "seriatim_client_connections") <= 2*clientsCount })
	// Idle goroutines wait for the next request without a time limit.
	const spare = 256
	await(t, "what served them to end", func() bool { return measured(t, plain, "go_goroutines") <= routines+spare+20 })
}

// refusalLines matches the lines that a node logs about refused callers.
var refusalLines = regexp.MustCompile(`(?m)^.*(refused a |all connections are taken|brought no whole request|a handshake of TLS failed|too slow with a body|busy with nothing).*$`)

// checkLog checks that a node logs each kind of refusal rarely.
func checkLog(t *testing.T, n *harness.Node, took time.Duration) {
	t.Helper()
	const kinds = 2 * 7 // of two ports
	lines := refusalLines.FindAllString(n.Log(), -1)
	if most := kinds * (1 + int(took/(30*time.Second))); len(lines) > most || len(lines) == 0 {
		t.Errorf("%s has logged %d lines, expected are 1 to %d\n%s", n.Name, len(lines), most, strings.Join(lines, "\n"))
	}
}
