package nodecert

import (
	"crypto/x509"
	"testing"
)

func TestMarks(t *testing.T) {
	for _, tc := range []struct {
		names          []string
		marked, names1 bool
	}{
		{nil, false, false},
		{[]string{"n1", "localhost", "node.seriatim", "n1.node.seriatim.example.org"}, false, false},
		{[]string{"n1", "n1.node.seriatim"}, true, true},
		{[]string{"n2.node.seriatim"}, true, false},
		{[]string{"N1.node.seriatim"}, true, false},
		{[]string{"a.n1.node.seriatim"}, true, false},
		{[]string{"*.node.seriatim"}, true, true},
	} {
		c := &x509.Certificate{DNSNames: tc.names}
		if Marked(c) != tc.marked || Names(c, "n1") != tc.names1 {
			t.Errorf("%v: marked %v, of n1 %v", tc.names, Marked(c), Names(c, "n1"))
		}
	}
}
