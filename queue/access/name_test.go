package access

import "testing"

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ qualified, owner, name string }{
		{"orders.fifo", "", "orders.fifo"},
		{"111111111111/orders.fifo", "111111111111", "orders.fifo"},
		{"111111111111", "", "111111111111"},
		{"11111111111/a", "", "11111111111/a"},
		{"11111111111a/b", "", "11111111111a/b"},
		{"", "", ""},
	} {
		owner, name := Split(tc.qualified)
		if owner != tc.owner || name != tc.name || Qualify(owner, name) != tc.qualified {
			t.Errorf("%q is %q of %q", tc.qualified, name, owner)
		}
	}
	if got := Qualify("", "111111111111/a"); got != "/111111111111/a" || OwnerOf(got) != "" {
		t.Errorf("the cluster's own account calls what another one has %q", got)
	}
	if got := Sibling("111111111111/a", "b"); got != "111111111111/b" {
		t.Errorf("got %q", got)
	}
}
