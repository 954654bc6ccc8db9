package push

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

var loopback = Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}

// poster returns a Poster that is closed at the end of the test.
func poster(t *testing.T, a Addresses) *Poster {
	p := New(a)
	t.Cleanup(p.Close)
	return p
}

// subscriber starts a server for the test and counts its connections.
func subscriber(t *testing.T, serve http.HandlerFunc) (url string, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	s := httptest.NewUnstartedServer(serve)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, connections
}

func TestPost(t *testing.T) {
	t.Parallel()
	type request struct{ Method, Path, Body, Type, Extra, Agent, User, Password string }
	got := make(chan request, 1)
	url, _ := subscriber(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		got <- request{r.Method, r.RequestURI, string(body), r.Header.Get("Content-Type"),
			r.Header.Get("X-Amz-Sns-Message-Type") + r.Header.Get("Accept-Encoding"), r.UserAgent(), user, password}
		w.WriteHeader(http.StatusAccepted)
	})
	status, err := poster(t, loopback).Post(t.Context(), strings.Replace(url, "http://", "http://name:secret@", 1)+"/hook?a=b",
		[][2]string{{"Content-Type", "text/plain"}, {"x-amz-sns-message-type", "Notification"}}, "body")
	if err != nil || status != http.StatusAccepted {
		t.Fatal(status, err)
	}
	want := request{"POST", "/hook?a=b", "body", "text/plain", "Notification", "Amazon Simple Notification Service Agent", "name", "secret"}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
}

// Addresses are checked after a name was resolved, and before a connection is made.
func TestPostRefusesAddresses(t *testing.T) {
	t.Parallel()
	url, connections := subscriber(t, func(http.ResponseWriter, *http.Request) {})
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	clustertest.Must(t, err)
	p := poster(t, Addresses{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "0.0.0.0", "[::]", "127.1.2.3"} {
		status, err := p.Post(t.Context(), "http://"+host+":"+port+"/secret?token=1", nil, "")
		if err == nil || !strings.Contains(err.Error(), "--sns-allow-endpoints") || strings.Contains(err.Error(), "token") {
			t.Errorf("%s: status %d, %v", host, status, err)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// A redirect is not followed, wherever it leads.
func TestPostFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	inside, connections := subscriber(t, func(http.ResponseWriter, *http.Request) {})
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		url, _ := subscriber(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside, code) })
		if status, err := poster(t, loopback).Post(t.Context(), url, nil, ""); status != code || err != nil {
			t.Errorf("status %d, %v, want %d", status, err, code)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// The environment's proxies are not used. The default transport reads them only once in a process,
// so the test looks at ours.
func TestPostUsesNoProxy(t *testing.T) {
	t.Parallel()
	if New(Addresses{}).transport.Proxy != nil {
		t.Error("requests go through a proxy")
	}
}

// A subscriber cannot keep a request busy with an endless answer.
func TestPostReadsLittle(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	url, _ := subscriber(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 32<<10)
		for {
			if _, err := w.Write(chunk); err != nil {
				close(gone)
				return
			}
		}
	})
	if status, err := poster(t, loopback).Post(t.Context(), url, nil, ""); status != http.StatusOK || err != nil {
		t.Errorf("status %d, %v", status, err)
	}
	<-gone
}

// The end of its context ends a request, whatever the subscriber does.
func TestPostEndsWithItsContext(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	url, _ := subscriber(t, func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if status, err := poster(t, loopback).Post(ctx, url, nil, ""); err == nil {
		t.Errorf("status %d", status)
	}
}

// Connections are reused, so that many messages to one subscriber need only one.
func TestPostKeepsConnections(t *testing.T) {
	t.Parallel()
	url, connections := subscriber(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "thanks") })
	p := poster(t, loopback)
	for range 10 {
		if status, err := p.Post(t.Context(), url, nil, "m"); status != http.StatusOK || err != nil {
			t.Fatal(status, err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{
		"127.0.0.1": true, "127.255.255.255": true, "::1": true, "169.254.169.254": true, "169.254.0.1": true, "fe80::1": true,
		"fe80::1%eth0": true, "0.0.0.0": true, "0.1.2.3": true, "::": true, "224.0.0.1": true, "239.1.2.3": true, "ff02::1": true,
		"ff05::2":         true,
		"255.255.255.255": true, "240.0.0.1": true, "fd00:ec2::254": true, "fd20:ce::254": true, "fc00::1": true, "fd00::1": true,
		"fec0::1":         true,
		"100.100.100.200": true, "192.0.0.192": true, "168.63.129.16": true, "::ffff:100.100.100.200": true, "64:ff9b::a83f:8110": true,
		"64:ff9b:1::7f00:1": true, "64:ff9b:1:7f00:0:100::": true, "2001:0:102:304::1": true, "::1:0:1": false, "100.64.0.1": false,
		"::ffff:127.0.0.1": true, "::ffff:169.254.169.254": true, "::127.0.0.1": true, "64:ff9b::a9fe:a9fe": true, "64:ff9b::7f00:1": true,
		"2002:7f00:1::": true, "2002:a9fe:a9fe::1": true,
		"192.0.2.1": false, "10.0.0.1": false, "192.168.1.1": false, "172.16.0.1": false, "2001:db8::1": false, "fe00::1": false,
		"2001:1::1":        false,
		"::ffff:192.0.2.1": false, "64:ff9b::c000:201": false, "2002:c000:201::1": false, "128.0.0.1": false, "169.253.255.255": false,
	} {
		if err := (Addresses{}).Check(netip.MustParseAddr(text)); (err != nil) != refused {
			t.Errorf("%s: %v", text, err)
		}
	}
	some := Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("169.254.7.0/24")}}
	for text, refused := range map[string]bool{"169.254.7.1": false, "::ffff:169.254.7.1": false, "169.254.169.254": true,
		"127.0.0.1": true} {
		if err := some.Check(netip.MustParseAddr(text)); (err != nil) != refused {
			t.Errorf("with a network allowed, %s: %v", text, err)
		}
	}
}

// TestOwnAddresses checks that the addresses of this machine are refused, also if an IPv6 address
// contains them.
func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	a := Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32")}, Own: func() ([]net.Addr, error) {
		var list []net.Addr
		for _, text := range []string{"192.0.2.2/24", "192.0.2.9/24", "2001:db8::2/64"} {
			ip, network, err := net.ParseCIDR(text)
			list = append(list, &net.IPNet{IP: ip, Mask: network.Mask})
			if err != nil {
				return nil, err
			}
		}
		return list, nil
	}}
	for text, refused := range map[string]bool{
		"192.0.2.2": true, "::ffff:192.0.2.2": true, "64:ff9b::c000:202": true, "2002:c000:202::1": true, "2001:db8::2": true,
		"2001:db8::2%eth0": true,
		"192.0.2.3":        false, "192.0.2.9": false, "2001:db8::3": false, "10.0.0.1": false,
	} {
		if err := a.Check(netip.MustParseAddr(text)); (err != nil) != refused {
			t.Errorf("%s: %v", text, err)
		}
	}
	a.Own = func() ([]net.Addr, error) { return nil, errors.New("no interfaces") }
	if err := a.Check(netip.MustParseAddr("10.0.0.1")); err == nil {
		t.Error("an address is accepted although those of this machine are not known")
	}
}
