package push

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// nameServer answers queries for IPv4 addresses with the result of answers, and other queries with
// no records. It ends with the test.
func nameServer(t *testing.T, answers func() []string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	clustertest.Must(t, err)
	done := make(chan struct{})
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if err := m.Unpack(buf[:n]); err != nil || len(m.Questions) != 1 {
				t.Errorf("a question with %d questions: %v", len(m.Questions), err)
				continue
			}
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				for _, text := range answers() {
					m.Answers = append(m.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
						Body:   &dnsmessage.AResource{A: netip.MustParseAddr(text).As4()},
					})
				}
			}
			answer, err := m.Pack()
			if err != nil {
				t.Error(err)
				continue
			}
			_, _ = conn.WriteTo(answer, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// twoAddresses listens on the same port of two addresses.
func twoAddresses(t *testing.T, first, second string) (a, b net.Listener, port string) {
	t.Helper()
	for {
		a, err := net.Listen("tcp", first+":0")
		clustertest.Must(t, err)
		_, port, _ := net.SplitHostPort(a.Addr().String())
		if b, err := net.Listen("tcp", second+":"+port); err == nil {
			return a, b, port
		}
		a.Close() // the port is in use at the other address
	}
}

// If a name has an allowed and a refused address, together or in turn, only the allowed one is
// reached, because the address of each connection is checked.
func TestPostToRebindingNames(t *testing.T) {
	t.Parallel()
	const allowed, refused = "127.0.0.2", "127.0.0.1"
	var reached [2]atomic.Int64 // the allowed address, the refused one
	ours, others, port := twoAddresses(t, allowed, refused)
	for i, l := range []net.Listener{ours, others} {
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter,
			*http.Request) {
			reached[i].Add(1)
		})}}
		s.Start()
		t.Cleanup(s.Close)
	}

	var means atomic.Pointer[[]string]
	only := Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix(allowed + "/32")}}
	resolver := nameServer(t, func() []string { return *means.Load() })
	p := newPoster(only.dialer(requestTimeout, resolver).DialContext)
	t.Cleanup(p.Close)
	for _, tc := range []struct {
		means []string
		ok    bool
	}{
		{[]string{allowed}, true}, {[]string{refused}, false}, {[]string{refused, allowed}, true}, {[]string{"169.254.169.254"}, false},
		{[]string{allowed}, true},
	} {
		means.Store(&tc.means)
		p.Close() // the next post has to look up the name again
		status, err := p.Post(t.Context(), "http://rebinding.example:"+port+"/", nil, "")
		if ok := err == nil && status == http.StatusOK; ok != tc.ok || !ok && !strings.Contains(err.Error(), "--sns-allow-endpoints") {
			t.Errorf("%v: status %d, %v", tc.means, status, err)
		}
	}
	if a, r := reached[0].Load(), reached[1].Load(); a != 3 || r != 0 {
		t.Errorf("%d posts reached the allowed address, %d the refused one", a, r)
	}
}
