package hostlimit

import (
	"net"
	"testing"
)

func at(host byte) net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, host), Port: 1000 + int(host)}
}

func TestLimit(t *testing.T) {
	l := New(3, 2)
	for i, tc := range []struct {
		host  byte
		begin bool // else one ends
		want  bool
	}{
		{1, true, true},
		{1, true, true},
		{1, true, false},
		{2, true, true},
		{3, true, false},
		{1, false, false},
		{3, true, true},
		{2, false, false},
		{1, true, true},
		{1, true, false},
	} {
		if !tc.begin {
			l.End(at(tc.host))
		} else if got := l.Begin(at(tc.host)); got != tc.want {
			t.Errorf("step %d: host %d may begin: %v", i, tc.host, got)
		}
	}
	for _, host := range []byte{1, 1, 3} {
		l.End(at(host))
	}
	if len(l.byHost) != 0 || l.open != 0 {
		t.Errorf("left are %v, %d", l.byHost, l.open)
	}
}

func TestHostOf(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:80":                      "192.0.2.1",
		"[::ffff:192.0.2.1]:80":             "192.0.2.1",
		"[2001:db8:1:2::1]:80":              "2001:db8:1:2::",
		"[2001:db8:1:2:ffff:ffff:ffff::]:1": "2001:db8:1:2::",
		"[2001:db8:1:3::1]:80":              "2001:db8:1:3::",
		"[fe80::1%eth0]:80":                 "fe80::",
		"a name:80":                         "a name",
		"no port":                           "no port",
	} {
		if got := HostOf(textAddr(address)); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

type textAddr string

func (textAddr) Network() string  { return "tcp" }
func (a textAddr) String() string { return string(a) }
