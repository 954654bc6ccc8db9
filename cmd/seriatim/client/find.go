package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// foundMessage is a message in JSON output.
type foundMessage struct {
	MessageID       string `json:"messageId"`
	SequenceNumber  string `json:"sequenceNumber"`
	GroupID         string `json:"groupId,omitempty"`
	DeduplicationID string `json:"deduplicationId,omitempty"`
	State           string `json:"state"`
	SentAtMs        int64  `json:"sentAtMs"`
	ReceiveCount    int64  `json:"receiveCount"`
	Body            string `json:"body"`
}

func findCommand(o *options) *cobra.Command {
	var filter api.MessageFilter
	var limit int
	var older time.Duration
	var attributes []string
	c := &cobra.Command{
		Use: "find QUEUE", Short: "Find stored messages by group, id, body, attribute or age",
		Long: "Find stored messages in any state. This receives nothing and changes nothing. All flags must match. The command reads\n" +
			"the whole queue in pages, and stops at --limit.",
		Example: "  seriatim msg find orders.fifo --group customer-9\n" +
			"  seriatim msg find orders.fifo --body '\"total\":0' --older-than 1h\n" +
			"  seriatim msg find jobs --attribute kind=image -o name",
		Args: arguments.Exactly("QUEUE"), ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			filter.Attributes = map[string]string{}
			for _, pair := range attributes {
				name, value, ok := strings.Cut(pair, "=")
				if !ok {
					return exit.New(exit.Usage, fmt.Errorf("--attribute %q has no value", pair), "write it like --attribute kind=order")
				}
				filter.Attributes[name] = value
			}
			if older > 0 {
				filter.SentBeforeMs = time.Now().Add(-older).UnixMilli()
			}
			found, err := findAll(cmd.Context(), n, &api.FindMessagesRequest{
				Queue: qualifiedOf(args[0]), Filter: &filter, PageSize: int32(min(limit, storedMax)), //nolint:gosec // at most 100
			}, limit)
			if err != nil {
				return err
			}
			if len(found) == 0 && p.format.ForPeople() {
				p.say("no message matches")
				return nil
			}
			return p.print(map[string]any{"messages": found}, func() table {
				t := table{heading: []string{"SEQUENCE", "MESSAGE ID", "GROUP", "STATE", "SENT", "RECEIVES", "BODY"}}
				for _, m := range found {
					t.add(m.SequenceNumber, m.MessageID, orDash(m.GroupID), m.State, clockTime(decimal(m.SentAtMs)),
						decimal(m.ReceiveCount), shortened(m.Body))
				}
				return t
			})
		}),
	}
	f := c.Flags()
	f.StringVar(&filter.GroupId, "group", "", "message group id")
	f.StringVar(&filter.MessageId, "message", "", "message id")
	f.StringVar(&filter.DeduplicationId, "deduplication-id", "", "deduplication id")
	f.StringVar(&filter.BodyContains, "body", "", "text that the body contains")
	f.StringArrayVar(&attributes, "attribute", nil, "NAME=VALUE of a message attribute, may be repeated")
	f.DurationVar(&older, "older-than", 0, "sent at least this long ago")
	f.IntVar(&limit, "limit", storedMax, "most messages to print")
	return c
}

// findAll reads pages until it has limit messages or the queue ends.
func findAll(ctx context.Context, n *native.Conn, in *api.FindMessagesRequest, limit int) (found []foundMessage, err error) {
	found = []foundMessage{}
	for {
		page, err := native.Get(ctx, n, func(ctx context.Context, to *api.Client) (*api.FoundMessages, error) {
			return to.FindMessages(ctx, in)
		})
		if err != nil {
			return nil, err
		}
		for _, m := range page.GetMessages() {
			if len(found) < limit {
				found = append(found, foundOf(m))
			}
		}
		in.PageToken = page.GetNextPageToken()
		if in.PageToken == "" || len(found) >= limit {
			return found, nil
		}
	}
}

func foundOf(m *api.PeekedMessage) foundMessage {
	stored := m.GetMessage()
	return foundMessage{
		MessageID: stored.GetMessageId(), SequenceNumber: strconv.FormatUint(stored.GetSequenceNumber(), 10), GroupID: stored.GetGroupId(),
		DeduplicationID: stored.GetDeduplicationId(), SentAtMs: stored.GetSentAtMs(), ReceiveCount: int64(stored.GetReceiveCount()),
		State: strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(m.GetState().String(), "MESSAGE_STATE_"), "_", " ")),
		Body:  stored.GetBody(),
	}
}
