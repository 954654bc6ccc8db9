package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/transport/auth"
)

// What a header X-Amz-Content-Sha256 says in place of a digest.
const (
	unsignedPayload = "UNSIGNED-PAYLOAD"
	signedChunks    = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	unsignedChunks  = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

// payload is what stands for the body in the canonical form: its digest, or what the
// request says instead of one.
func payload(r *http.Request, body string) (string, error) {
	said := r.Header["X-Amz-Content-Sha256"]
	if len(said) == 1 {
		switch said[0] {
		case unsignedPayload, signedChunks, unsignedChunks:
			return said[0], nil
		}
	}
	digest := digestOf(body)
	if len(said) > 0 && (len(said) > 1 || !strings.EqualFold(said[0], digest)) {
		return "", &auth.Error{
			Code: "XAmzContentSHA256Mismatch", Status: http.StatusBadRequest,
			Message: "The provided 'x-amz-content-sha256' header does not match what was computed.",
		}
	}
	return digest, nil
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
