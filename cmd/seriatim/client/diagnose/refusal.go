package diagnose

import (
	"encoding/json"
	"strings"
)

// sentenceMax bounds the text of an unknown answer, such as a page of a proxy.
const sentenceMax = 500

// sentence returns the error in an answer in one line: the error of a Refusal, or else the
// beginning of the answer.
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
