package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/transport/auth"
)

// Values of the header X-Amz-Content-Sha256 in place of a digest.
const (
	unsignedPayload = "UNSIGNED-PAYLOAD"
	signedChunks    = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	unsignedChunks  = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

// appendPayload appends the body in its canonical form: its digest, or the value of the header.
func appendPayload(b []byte, r *http.Request, body string) ([]byte, error) {
	said := r.Header["X-Amz-Content-Sha256"]
	if len(said) == 1 {
		switch said[0] {
		case unsignedPayload, signedChunks, unsignedChunks:
			return append(b, said[0]...), nil
		}
	}
	sum := sumOf(body)
	b = hex.AppendEncode(b, sum[:])
	if len(said) > 0 && (len(said) > 1 || !strings.EqualFold(said[0], string(b[len(b)-signatureLength:]))) {
		return nil, &auth.Error{
			Code: "XAmzContentSHA256Mismatch", Status: http.StatusBadRequest,
			Message: "The provided 'x-amz-content-sha256' header does not match what was computed.",
		}
	}
	return b, nil
}

// sumOf returns the SHA-256 of a text without an allocation.
func sumOf(text string) (sum [sha256.Size]byte) {
	var room [1 << 10]byte
	if len(text) <= len(room) {
		return sha256.Sum256(room[:copy(room[:], text)])
	}
	digest, piece := sha256.New(), make([]byte, min(len(text), 8<<10))
	for text != "" {
		n := copy(piece, text)
		digest.Write(piece[:n]) // never fails
		text = text[n:]
	}
	digest.Sum(sum[:0])
	return sum
}

func digestOf(text string) string {
	sum := sumOf(text)
	return hex.EncodeToString(sum[:])
}
