package sigv4

import (
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/transport/auth"
)

const (
	chunkAlgorithm = algorithm + "-PAYLOAD"
	chunkSignature = "chunk-signature="
	chunkLineMax   = 256
)

// chunks reads a body in the encoding aws-chunked: chunks that begin with their size, and perhaps a
// signature that covers that of the chunk before. The last chunk is empty; checksums behind it are ignored.
type chunks struct {
	signature *signature
	key       *signingKey
	signed    bool
	before    string // signature of the chunk before, initially of the request
}

// read returns the body without the encoding.
func (c *chunks) read(body string) (string, error) {
	var whole strings.Builder
	for {
		line, rest, found := strings.Cut(body, "\r\n")
		digits, extension, _ := strings.Cut(line, ";")
		size, err := strconv.ParseUint(digits, 16, 31)
		if !found || err != nil || len(line) > chunkLineMax {
			return "", malformedChunk()
		}
		if uint64(len(rest)) < size {
			return "", malformedChunk()
		}
		data := rest[:size]
		if err := c.check(data, extension); err != nil {
			return "", err
		}
		if size == 0 {
			return whole.String(), nil
		}
		if body, found = strings.CutPrefix(rest[size:], "\r\n"); !found {
			return "", malformedChunk()
		}
		whole.WriteString(data)
	}
}

// check compares the signature of a chunk.
func (c *chunks) check(data, extension string) error {
	if !c.signed {
		return nil
	}
	got, ok := strings.CutPrefix(extension, chunkSignature)
	if !ok {
		return malformedChunk()
	}
	text := strings.Join([]string{chunkAlgorithm, c.signature.stamp, c.signature.scope.String(), c.before, digestOf(""),
		digestOf(data)}, "\n")
	sum := keyed(c.key.key[:], []byte(text))
	want := hex.EncodeToString(sum[:])
	if subtle.ConstantTimeCompare([]byte(want), []byte(got)) != 1 {
		return wrongSignature()
	}
	c.before = want
	return nil
}

func malformedChunk() error {
	return &auth.Error{
		Code: "IncompleteBody", Status: http.StatusBadRequest,
		Message: "The body is not in the encoding aws-chunked that its header x-amz-content-sha256 speaks of.",
	}
}
