package fsmtest

import (
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue"
)

// SameBody compares bodies by their text.
var SameBody = cmp.Comparer(func(a, b queue.Body) bool { return a.String() == b.String() })

// Send returns a send of one message of 256 bytes.
func Send() *queue.SendMessages {
	return &queue.SendMessages{Queue: "orders.fifo", SenderID: "AIDAEXAMPLE", Entries: []queue.SendEntry{{
		Body: strings.Repeat("x", 256), GroupID: "group-17", GroupIDGiven: true,
		DeduplicationID: "0d1e7c5a-4f0e-4a58-9d53-1a2b3c4d5e6f", DeduplicationIDGiven: true,
	}}}
}

// SendBatch returns a full batch of such messages.
func SendBatch() *queue.SendMessages {
	cmd := Send()
	cmd.Batch = true
	for len(cmd.Entries) < 10 {
		cmd.Entries = append(cmd.Entries, cmd.Entries[0])
	}
	return cmd
}
