package sns

import (
	"context"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type publishEntry struct {
	ID awswire.Text
	message
}

type publishBatchInput struct {
	onTopic
	Entries []publishEntry
}

const entriesName = "PublishBatchRequestEntries"

var publishBatchInputSchema = awswire.Structure(
	topicMember(func(v *publishBatchInput) *onTopic { return &v.onTopic }),
	awswire.Within(entriesName, awswire.Structures(entriesName, "member", awswire.Structure(append([]awswire.Member[publishEntry]{
		awswire.OptionalString("Id", func(v *publishEntry) *awswire.Text { return &v.ID }),
	}, messageMembers(func(v *publishEntry) *message { return &v.message })...)...),
		func(v *publishBatchInput) *[]publishEntry { return &v.Entries })),
)

type publishedEntry struct {
	ID string
	published
}

// failedEntry is one refused entry of a batch. No answer has any, because a bad entry fails the whole
// batch (recorded at SNS).
type failedEntry struct {
	ID          string
	Code        string
	Message     string
	SenderFault bool
}

type publishBatchOutput struct {
	Successful []publishedEntry
	Failed     []failedEntry
}

var publishBatchOutputSchema = awswire.Structure(
	awswire.Within("Successful", awswire.Structures("Successful", "member", awswire.Structure(append([]awswire.Member[publishedEntry]{
		awswire.String("Id", func(v *publishedEntry) *string { return &v.ID }),
	}, publishedMembers(func(v *publishedEntry) *published { return &v.published })...)...),
		func(v *publishBatchOutput) *[]publishedEntry { return &v.Successful })),
	awswire.Within("Failed", awswire.Structures("Failed", "member", awswire.Structure(
		awswire.String("Id", func(v *failedEntry) *string { return &v.ID }),
		awswire.String("Code", func(v *failedEntry) *string { return &v.Code }),
		awswire.String("Message", func(v *failedEntry) *string { return &v.Message }),
		awswire.Boolean("SenderFault", func(v *failedEntry) *bool { return &v.SenderFault }),
	), func(v *publishBatchOutput) *[]failedEntry { return &v.Failed })),
)

const entryIDLengthMax = 80

// checkEntries checks the parts of a batch that no command carries.
func checkEntries(entries []publishEntry) error {
	switch n := len(entries); {
	case n == 0:
		return refusal.New(refusal.EmptyBatchRequest, "The batch request doesn't contain any entries.")
	case n > limits.BatchEntriesMax:
		return refusal.New(refusal.TooManyEntriesInBatchRequest, "The batch request contains more entries than permissible.")
	}
	seen := make(map[string]bool, len(entries)) // looked up, never walked
	for i := range entries {
		path := "publishBatchRequestEntries." + strconv.Itoa(i+1) + ".member."
		switch e := &entries[i]; {
		case !e.ID.Given:
			return absent(path + "id")
		case !e.Message.Given:
			return absent(path + "message")
		}
		id := entries[i].ID.Value
		switch {
		case len(id) > entryIDLengthMax:
			return refusal.New(refusal.InvalidBatchEntryID, "The Id of a batch entry in the batch request is too long: ", refusal.Echo(id))
		case id == "" || strings.Trim(id, entryIDCharacters) != "":
			return refusal.New(refusal.InvalidBatchEntryID, "The Id of a batch entry in the batch request contains an impermissible "+
				"character: ", id)
		}
		if seen[id] {
			return refusal.New(refusal.BatchEntryIDsNotDistinct, "Two or more batch entries in the request have the same Id.")
		}
		seen[id] = true
	}
	return nil
}

const entryIDCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// publishBatch publishes up to ten messages in order, all or none.
func publishBatch(ctx context.Context, c *aws.Call, in *publishBatchInput) (*publishBatchOutput, error) {
	if err := checkEntries(in.Entries); err != nil {
		return nil, err
	}
	cmd := newPublish(c, len(in.Entries))
	cmd.Batch = true
	for i := range in.Entries {
		entry, refused := in.Entries[i].entry()
		if refused != nil {
			return nil, refused
		}
		cmd.Entries = append(cmd.Entries, entry)
	}
	done, err := submitPublish(ctx, c, cmd, func(i int) bool { return in.Entries[i].structured() })
	if err != nil {
		return nil, err
	}
	out := &publishBatchOutput{Successful: make([]publishedEntry, len(done.Entries))}
	var duplicates []string
	for i, e := range done.Entries {
		out.Successful[i].ID = in.Entries[i].ID.Value
		out.Successful[i].accept(e)
		if e.Duplicate {
			duplicates = append(duplicates, in.Entries[i].ID.Value)
		}
	}
	c.Duplicate = strings.Join(duplicates, ",")
	return out, nil
}
