package history

import (
	"cmp"
	"crypto/md5" //nolint:gosec // the protocol's digest
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Attribute is a message attribute. A binary value is stored as its bytes.
type Attribute struct{ Name, Type, Value string }

// AttributesText returns the canonical text of message attributes: two lists are equal if their
// texts are.
func AttributesText(attributes []Attribute) string {
	var b strings.Builder
	for _, a := range sorted(attributes) {
		fmt.Fprintf(&b, "%q %s %q;", a.Name, a.Type, a.Value)
	}
	return b.String()
}

// AttributesDigest returns MD5OfMessageAttributes by sqs.md 1.4, implemented independently of the
// product. It is empty without attributes.
func AttributesDigest(attributes []Attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	digest := md5.New() //nolint:gosec // the protocol's digest
	part := func(text string) {
		_ = binary.Write(digest, binary.BigEndian, uint32(len(text))) // a hash never fails
		digest.Write([]byte(text))
	}
	for _, a := range sorted(attributes) {
		part(a.Name)
		part(a.Type)
		if strings.HasPrefix(a.Type, "Binary") {
			digest.Write([]byte{2})
		} else {
			digest.Write([]byte{1})
		}
		part(a.Value)
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// BodyDigest is the MD5 of a body.
func BodyDigest(body string) string {
	digest := md5.Sum([]byte(body)) //nolint:gosec // the protocol's digest
	return hex.EncodeToString(digest[:])
}

func sorted(attributes []Attribute) []Attribute {
	return slices.SortedFunc(slices.Values(attributes), func(a, b Attribute) int { return cmp.Compare(a.Name, b.Name) })
}
