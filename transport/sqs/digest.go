package sqs

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
)

// Types of attribute values in digests. AWS does not implement the types of lists, 3 and 4.
const (
	digestText   = 1
	digestBinary = 2
)

// bodyDigest returns MD5OfMessageBody, which is over the bytes of the decoded body.
func bodyDigest(body string) string {
	// Pieces avoid a copy of the whole body.
	var small [1024]byte
	if len(body) <= len(small) {
		sum := md5.Sum(small[:copy(small[:], body)])
		return hex.EncodeToString(sum[:])
	}
	digest, piece := md5.New(), make([]byte, min(len(body), 8<<10))
	for body != "" {
		n := copy(piece, body)
		digest.Write(piece[:n]) // never fails
		body = body[n:]
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// attributesDigest returns MD5OfMessageAttributes over attributes sorted by name, empty without any.
func attributesDigest(attributes []queue.MessageAttribute) string {
	if len(attributes) == 0 {
		return ""
	}
	size := 0
	for i := range attributes {
		a := &attributes[i]
		size += len(a.Name) + len(a.DataType) + len(a.Value) + 13
	}
	buffer := make([]byte, 0, size)
	for i := range attributes {
		a := &attributes[i]
		buffer = appendSized(buffer, a.Name)
		buffer = appendSized(buffer, a.DataType)
		if isBinary(a.DataType) {
			buffer = append(buffer, digestBinary)
		} else {
			buffer = append(buffer, digestText)
		}
		buffer = appendSized(buffer, a.Value)
	}
	sum := md5.Sum(buffer)
	return hex.EncodeToString(sum[:])
}

func appendSized(dst []byte, text string) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(text)))
	return append(dst, text...)
}

// isBinary reports whether values of a type are bytes. The type may have a suffix, such as
// Binary.png.
func isBinary(dataType string) bool { return strings.HasPrefix(dataType, "Binary") }

func sortAttributes(attributes []queue.MessageAttribute) {
	slices.SortStableFunc(attributes, func(a, b queue.MessageAttribute) int { return strings.Compare(a.Name, b.Name) })
}
