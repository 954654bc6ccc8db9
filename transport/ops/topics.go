package ops

import (
	"net/http"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// topicDeduplication finds a deduplication id as a publish does. The parameters are id, group and
// partition.
func (a *Admin) topicDeduplication(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	id := queue.DeduplicationID{ID: parameters.Get("id"), GroupID: parameters.Get("group"), PartitionKey: parameters.Get("partition")}
	out := document.DeduplicationID{DeduplicationID: id.ID}
	_, err := a.Node.Read(r.Context(), func(v queue.View) error {
		known, found, refused := v.KnownTopicID(a.named(r), id)
		if refused != nil {
			return refused
		}
		if found {
			out = document.DeduplicationID{
				DeduplicationID: id.ID, Known: true, MessageID: known.MessageID.String(), SequenceNumber: known.Sequence.String(),
				Scope: attributes.ScopeName(known.Scope), State: known.State, AcceptedAtMs: int64(known.AcceptedAt),
				ForgottenAtMs: int64(known.ForgottenAt),
			}
		}
		return nil
	})
	a.answerRead(w, r, err, out)
}
