package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

const entryIDLengthMax = 80

// checkBatch checks the parts of a batch that no command carries, in the order of sqs.md 2.8: number
// of entries, form of their ids, repeated ids.
func checkBatch(entryName string, n int, id func(i int) string) *queue.Error {
	if err := queue.CheckEntryCount(n, entryName); err != nil {
		return err
	}
	for i := range n {
		if !isEntryID(id(i)) {
			return &queue.Error{
				Code: refusal.InvalidBatchEntryID,
				Message: "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 " +
					"letters long.",
			}
		}
	}
	for i := range n {
		for j := range i {
			if id(i) == id(j) {
				return &queue.Error{Code: refusal.BatchEntryIDsNotDistinct, Message: "Id " + id(i) + " repeated."}
			}
		}
	}
	return nil
}

func isEntryID(id string) bool {
	if id == "" || len(id) > entryIDLengthMax {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// failedEntry is one entry of a batch that was refused.
type failedEntry struct {
	ID          string
	SenderFault bool
	Code        string
	Message     string
}

var failedEntrySchema = awswire.Structure(
	awswire.String("Id", func(v *failedEntry) *string { return &v.ID }),
	awswire.Boolean("SenderFault", func(v *failedEntry) *bool { return &v.SenderFault }),
	awswire.String("Code", func(v *failedEntry) *string { return &v.Code }),
	awswire.String("Message", func(v *failedEntry) *string { return &v.Message }),
)

func failed(id string, e *queue.Error) failedEntry {
	form := wireError(aws.JSON, e)
	return failedEntry{ID: id, SenderFault: form.Status < 500, Code: form.Code, Message: awswire.Shorten(form.Message)}
}

// doneEntry is one successful entry of a batch without a result.
type doneEntry struct{ ID string }

var doneEntrySchema = awswire.Structure(
	awswire.String("Id", func(v *doneEntry) *string { return &v.ID }),
)

// batchOutput is the output of batch actions whose entries have no result.
type batchOutput struct {
	Successful []doneEntry
	Failed     []failedEntry
}

// batchOutputSchema returns the schema of an action, which names the element of a success.
func batchOutputSchema(element string) *awswire.Schema[batchOutput] {
	return awswire.Structure(
		awswire.Structures("Successful", element, doneEntrySchema, func(v *batchOutput) *[]doneEntry { return &v.Successful }),
		awswire.Structures("Failed", "BatchResultErrorEntry", failedEntrySchema, func(v *batchOutput) *[]failedEntry { return &v.Failed }),
	)
}

// submitBatch submits a batch whose entries have no result.
func submitBatch(ctx context.Context, c *aws.Call, cmd queue.Command, id func(i int) string) (*batchOutput, error) {
	done, err := service.Submit[queue.EntriesDone](ctx, &c.Call, cmd)
	if err != nil {
		return nil, err
	}
	c.Record.Trace.Batch(len(done.Errs))
	out := &batchOutput{}
	for i, err := range done.Errs {
		if err != nil {
			out.Failed = append(out.Failed, failed(id(i), err))
		} else {
			out.Successful = append(out.Successful, doneEntry{id(i)})
		}
	}
	return out, nil
}
