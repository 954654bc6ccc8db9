package sqs

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
)

func TestBodyDigest(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"message": "78e731027d8fd50ed642340b7c9a63b3",
		"test":    "098f6bcd4621d373cade4e832627b4f6",
		"foobar":  "3858f62230ac3c915f300c664312c63f",
		"\u00e9":  "66ddcd97cfdeabb2f6fb8a999b4bc76f",
	} {
		if got := bodyDigest(body); got != want {
			t.Errorf("%q: got %s, want %s", body, got, want)
		}
	}
	for _, size := range []int{1023, 1024, 1025, 8 << 10, 8<<10 + 1, 1 << 20} {
		body := strings.Repeat("0123456789abcdef-", size/17+1)[:size]
		if sum := md5.Sum([]byte(body)); bodyDigest(body) != hex.EncodeToString(sum[:]) {
			t.Errorf("the digest of %d bytes is another", size)
		}
	}
}

func TestAttributesDigest(t *testing.T) {
	t.Parallel()
	str := func(name, value string) queue.MessageAttribute {
		return queue.MessageAttribute{Name: name, DataType: "String", Value: value}
	}
	for _, tc := range []struct {
		name       string
		attributes []queue.MessageAttribute
		want       string
	}{
		{"none", nil, ""},
		{"one letter", []queue.MessageAttribute{str("k", "x")}, "a45daa70926828a2f0a1db3418e6feb4"},
		{"number", []queue.MessageAttribute{{Name: "timestamp", DataType: "Number", Value: "1493147359900"}},
			"235c5c510d26fb653d073faed50ae77c"},
		{"Foo", []queue.MessageAttribute{str("Foo", "Bar")}, "ae7155c6026991b6d54b11589678bf9c"},
		{"MyAttribute", []queue.MessageAttribute{str("MyAttribute", "foobar")}, "adb59cd4678ea5a855436b949cd07ab6"},
		{"three", []queue.MessageAttribute{str("General", "Kenobi"), str("Hello", "There"), str("Help.Me", "Me")},
			"4c360f3fdafd970e05fae2f149d997f5"},
		{"two", []queue.MessageAttribute{str("General", "Kenobi"), str("Hello", "There")}, "fca026605781cb4126a1e9044df24232"},
		{"binary", []queue.MessageAttribute{{Name: "attr1", DataType: "Binary",
			Value: "traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01"}}, "8cbe4db156db8a94db8b801b7addb984"},
		{"custom number", []queue.MessageAttribute{{Name: "UserId", DataType: "Number.bigint", Value: "1234567890123456789012"}},
			"797ab158d73dcb5242dedc4412c8e855"},
		{"all types", []queue.MessageAttribute{
			{Name: "a", DataType: "Number", Value: "42"}, {Name: "ab", DataType: "String.custom", Value: "\u00e9"},
			{Name: "b", DataType: "Binary", Value: "\x00\x01\x02\xff"},
		}, "3ab4d672aa34e0b7a1acbbde10af9b3a"},
		{"trace header", []queue.MessageAttribute{str(traceAttribute,
			"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")}, "5ae4d5d7636402d80f4eb6d213245a88"},
	} {
		if got := attributesDigest(tc.attributes); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

// slowDigest follows the description of the digest step by step.
func slowDigest(attributes []queue.MessageAttribute) string {
	sorted := append([]queue.MessageAttribute(nil), attributes...)
	slices.SortStableFunc(sorted, func(a, b queue.MessageAttribute) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	h := md5.New()
	put := func(s string) {
		_ = binary.Write(h, binary.BigEndian, int32(len(s)))
		h.Write([]byte(s))
	}
	for _, a := range sorted {
		put(a.Name)
		put(a.DataType)
		if strings.SplitN(a.DataType, ".", 2)[0] == "Binary" {
			h.Write([]byte{2})
		} else {
			h.Write([]byte{1})
		}
		put(a.Value)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func FuzzAttributesDigest(f *testing.F) {
	f.Add("b", "String", "x", "a", "Binary.png", "\x00\xff")
	f.Fuzz(func(t *testing.T, name1, type1, value1, name2, type2, value2 string) {
		for _, dataType := range []string{type1, type2} {
			// Only these types pass the rules of a queue.
			if prefix, _, _ := strings.Cut(dataType, "."); prefix != "String" && prefix != "Number" && prefix != "Binary" {
				return
			}
		}
		attributes := []queue.MessageAttribute{{Name: name1, DataType: type1, Value: value1}, {Name: name2, DataType: type2, Value: value2}}
		want := slowDigest(attributes)
		sortAttributes(attributes)
		if got := attributesDigest(attributes); got != want {
			t.Fatalf("got %s, want %s for %q", got, want, attributes)
		}
	})
}

// TestBodyDigestSizes checks bodies around the size at which the method of hashing changes.
func TestBodyDigestSizes(t *testing.T) {
	for _, size := range []int{0, 1, 1023, 1024, 1025, 1 << 20} {
		body := strings.Repeat("é", size)[:size]
		sum := md5.Sum([]byte(body))
		if got, want := bodyDigest(body), hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%d bytes: %s, want %s", size, got, want)
		}
	}
}
