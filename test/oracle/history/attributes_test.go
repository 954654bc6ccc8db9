package history

import "testing"

// TestAttributesDigest compares with the bytes written out by hand: lengths, names,
// types, kinds and values, in the order of the names.
func TestAttributesDigest(t *testing.T) {
	one := []Attribute{{"b", "Binary", "\x00\x01"}, {"a", "String", "x"}}
	if got, want := AttributesDigest(one), BodyDigest("\x00\x00\x00\x01a\x00\x00\x00\x06String\x01\x00\x00\x00\x01x"+
		"\x00\x00\x00\x01b\x00\x00\x00\x06Binary\x02\x00\x00\x00\x02\x00\x01"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := AttributesDigest(nil); got != "" {
		t.Errorf("without attributes: %s", got)
	}
	if AttributesText(one) == AttributesText(one[:1]) {
		t.Error("two lists have one text")
	}
	if got := BodyDigest("hello"); got != "5d41402abc4b2a76b9719d911017c592" {
		t.Errorf("of a body: %s", got)
	}
}
