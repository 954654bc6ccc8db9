package diagnose

import (
	"encoding/json"
	"strings"
)

// sentenceMax bounds what of an answer is shown that is not one of the admin port, as a page of a proxy.
const sentenceMax = 500

// sentence is why a node refused to answer, in one line: that of the document in which the admin port says it, or else
// the beginning of what came.
func sentence(body []byte) string {
	text := string(body)
	var refusal struct{ Error string }
	if json.Unmarshal(body, &refusal) == nil && refusal.Error != "" {
		text = refusal.Error
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > sentenceMax {
		text = strings.ToValidUTF8(text[:sentenceMax], "") + "..."
	}
	return text
}
