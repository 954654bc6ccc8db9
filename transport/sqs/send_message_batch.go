package sqs

import (
	"context"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type sendEntry struct {
	ID string
	message
}

type sendMessageBatchInput struct {
	onQueue
	Entries []sendEntry
}

const sendEntryName = "SendMessageBatchRequestEntry"

var sendMessageBatchInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *sendMessageBatchInput) *awswire.Text { return &v.QueueURL }),
	awswire.Structures("Entries", sendEntryName, awswire.Structure(append([]awswire.Member[sendEntry]{
		awswire.String("Id", func(v *sendEntry) *string { return &v.ID }),
	}, messageMembers(func(v *sendEntry) *message { return &v.message })...)...),
		func(v *sendMessageBatchInput) *[]sendEntry { return &v.Entries }),
)

type sentEntry struct {
	ID string
	sent
}

type sendMessageBatchOutput struct {
	Successful []sentEntry
	Failed     []failedEntry
}

var sendMessageBatchOutputSchema = awswire.Structure(
	awswire.Structures("Successful", "SendMessageBatchResultEntry", awswire.Structure(append([]awswire.Member[sentEntry]{
		awswire.String("Id", func(v *sentEntry) *string { return &v.ID }),
	}, sentMembers(func(v *sentEntry) *sent { return &v.sent })...)...),
		func(v *sendMessageBatchOutput) *[]sentEntry { return &v.Successful }),
	awswire.Structures("Failed", "BatchResultErrorEntry", failedEntrySchema,
		func(v *sendMessageBatchOutput) *[]failedEntry { return &v.Failed }),
)

// sendMessageBatch sends up to ten messages. A bad value fails its entry, a bad batch fails all.
func (s *Service) sendMessageBatch(ctx context.Context, c *aws.Call, in *sendMessageBatchInput) (*sendMessageBatchOutput, error) {
	if refusal := checkBatch(sendEntryName, len(in.Entries), func(i int) string { return in.Entries[i].ID }); refusal != nil {
		return nil, refuse(ctx, c, refusal)
	}
	out := &sendMessageBatchOutput{Successful: make([]sentEntry, 0, len(in.Entries))}
	cmd := &queue.SendMessages{Queue: c.Resource.Name, SenderID: c.SenderID(), Batch: true,
		Entries: make([]queue.SendEntry, 0, len(in.Entries))}
	answers := make([]sentEntry, len(in.Entries))
	refusals := make([]*queue.Error, len(in.Entries))
	for i := range in.Entries {
		answers[i].ID = in.Entries[i].ID
		m := &in.Entries[i].message
		entry, refusal := answers[i].prepare(c, m)
		if refusal != nil {
			// The command refuses the empty entry again, and counts it in the checks of the batch.
			refusals[i] = refusal
			entry = queue.SendEntry{GroupIDGiven: m.GroupID.Given, DeduplicationIDGiven: m.DeduplicationID.Given}
		}
		cmd.Entries = append(cmd.Entries, entry)
	}
	c.Record.Trace.Batch(len(cmd.Entries))
	c.Record.Trace.Sent(cmd.Entries)
	done, err := service.Submit[queue.MessagesSent](ctx, &c.Call, cmd)
	if err != nil {
		return nil, err
	}
	var duplicates []string
	for i := range answers {
		refusal := done.Entries[i].Err
		if refusals[i] != nil {
			refusal = refusals[i]
		}
		if refusal != nil {
			out.Failed = append(out.Failed, failed(answers[i].ID, refusal))
			continue
		}
		answers[i].accept(done.Entries[i])
		out.Successful = append(out.Successful, answers[i])
		if done.Entries[i].Duplicate {
			duplicates = append(duplicates, answers[i].ID)
		}
	}
	c.Duplicate = strings.Join(duplicates, ",")
	return out, nil
}
