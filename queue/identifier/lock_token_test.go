package identifier

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/statehash"
)

func TestLockToken(t *testing.T) {
	key := statehash.NewKey([16]byte{1})
	handle := NewReceiptHandle(key, 7, 5, 1<<40, 3)
	token, ok := ParseLockToken(handle.LockToken().String())
	if !ok || token != handle.LockToken() {
		t.Fatalf("%x, %t", token, ok)
	}
	if r, ok := token.Open(key, 7, 5); !ok || r.Sequence != 1<<40 || r.Count != 3 {
		t.Errorf("%+v, %t", r, ok)
	}
	for bit := range 8 * len(token) {
		changed := token
		changed[bit/8] ^= 1 << (bit % 8)
		if _, ok := changed.Open(key, 7, 5); ok {
			t.Errorf("a token with the changed bit %d is valid", bit)
		}
	}
	for name, valid := range map[string]bool{"epoch": second(token.Open(key, 8, 5)), "queue": second(token.Open(key, 7, 6))} {
		if valid {
			t.Errorf("the token is valid with another %s", name)
		}
	}
	text := token.String()
	for _, bad := range []string{"", text[:31], text + "0", strings.ToUpper(text), "g" + text[1:], handle.String()} {
		if _, ok := ParseLockToken(bad); ok {
			t.Errorf("%q is read as a token", bad)
		}
	}
}

func second(_ Receipt, ok bool) bool { return ok }
