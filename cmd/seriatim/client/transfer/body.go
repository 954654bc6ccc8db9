package transfer

import (
	"encoding/base64"
	"fmt"

	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// encodingBase64 is the encoding of bodies in JSON that are not text.
const encodingBase64 = "base64"

// Body returns the body of a message for JSON. encoding is empty for text, and base64 for bytes.
func Body(m *api.Delivery) (body, encoding string) {
	content := api.Content(m)
	if api.IsText(content) {
		return content, ""
	}
	return base64.StdEncoding.EncodeToString([]byte(content)), encodingBase64
}

// shownBytesMax bounds the bytes that people see of a body.
const shownBytesMax = 16

// Shown returns the body of a message for people: text, or the first bytes.
func Shown(m *api.Delivery) string { return ShownBody(Body(m)) }

// ShownBody is Shown for a body in JSON.
func ShownBody(body, encoding string) string {
	content, err := base64.StdEncoding.DecodeString(body)
	if encoding != encodingBase64 || err != nil {
		return body
	}
	return fmt.Sprintf("%d bytes: % x", len(content), content[:min(len(content), shownBytesMax)])
}
