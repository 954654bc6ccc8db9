package filter

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

// libraryAddress parses an address with net/netip, which also accepts zones and IPv4 in IPv6.
func libraryAddress(text string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(text)
	return a, err == nil && a.Zone() == "" && (a.Is4() || !strings.Contains(text, "."))
}

func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"10.0.0.1", "0.0.0.0", "255.255.255.255", "256.0.0.1", "01.0.0.1", "1.2.3", "1.2.3.4.5", "1..2.3", "1.2.3.", "+1.2.3.4", "", ".",
		":", "::", ":::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4::5:6:7:8", "1:2:3:4:5:6:7:8::", "1::2::3", "12345::", "g::", "::ffff:1.2.3.4",
		"fe80::1%eth0", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", "A:b:C:d:E:f:0:9", "\x10::", "1:2:3:4:5:6:7:8:9",
	} {
		f.Add(text, uint8(24))
	}
	f.Fuzz(func(t *testing.T, text string, bits uint8) {
		want, valid := libraryAddress(text)
		a, ok := parseAddress(text)
		if ok != valid {
			t.Fatalf("%q is an address: %v, want %v", text, ok, valid)
		}
		if !ok {
			return
		}
		prefix := netip.PrefixFrom(want, int(bits))
		n, err := parseNetwork(text + "/" + strconv.Itoa(int(bits)))
		if (err == nil) != prefix.IsValid() {
			t.Fatalf("%q/%d: %v, want %v", text, bits, err, prefix)
		}
		if err != nil {
			return
		}
		for _, other := range []string{text, "10.0.0.1", "10.0.0.200", "::1", "1::", "1:2:3:4:5:6:7:9", "255.0.0.0", "ffff::"} {
			b, _ := parseAddress(other)
			if got := n.contains(b); got != prefix.Contains(netip.MustParseAddr(other)) {
				t.Fatalf("%s in %v: %v", other, prefix, got)
			}
		}
		if !n.contains(a) {
			t.Fatalf("%s is not in its network", text)
		}
	})
}
