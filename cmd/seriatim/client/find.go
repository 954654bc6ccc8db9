package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/transfer"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// filterFlags choose stored messages. All that are given must match.
type filterFlags struct {
	filter     api.MessageFilter
	states     []string
	attributes []string
	older      time.Duration
}

func (f *filterFlags) bind(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.filter.GroupId, "group", "", "filter: message group id")
	s.StringVar(&f.filter.DeduplicationId, "deduplication-id", "", "filter: deduplication id")
	s.StringVar(&f.filter.BodyContains, "body", "", "filter: text that the body contains")
	s.StringArrayVar(&f.attributes, "attribute", nil, "filter: NAME=VALUE of a message attribute, may be repeated")
	s.DurationVar(&f.older, "older-than", 0, "filter: sent at least this long ago")
	s.StringSliceVar(&f.states, "state", nil, "filter: visible, in-flight, delayed, scheduled or deferred; any of these")
	complete(c, "state", slices.Sorted(maps.Keys(messageStates))...)
}

// messageStates are the states of stored messages by their names in flags.
var messageStates = map[string]api.MessageState{
	"visible": api.MessageVisible, "in-flight": api.MessageInFlight, "delayed": api.MessageDelayed, "scheduled": api.MessageScheduled,
	"deferred": api.MessageDeferred,
}

// statesAtRest are those of messages that no receiver has.
var statesAtRest = []api.MessageState{api.MessageVisible, api.MessageDelayed, api.MessageScheduled, api.MessageDeferred}

// given reports whether a flag is set.
func (f *filterFlags) given() bool {
	return f.filter.GroupId != "" || f.filter.DeduplicationId != "" || f.filter.BodyContains != "" || len(f.attributes) > 0 ||
		f.older != 0 || len(f.states) > 0
}

// read returns the filter of the flags.
func (f *filterFlags) read() (*api.MessageFilter, error) {
	pairs, err := flagPairs("attribute", f.attributes)
	if err != nil {
		return nil, err
	}
	f.filter.Attributes, f.filter.States = pairs, nil
	for _, name := range f.states {
		state, known := messageStates[name]
		if !known {
			return nil, exit.New(exit.Usage, fmt.Errorf("--state %q is no state of a message", name),
				"the states are visible, in-flight, delayed, scheduled and deferred")
		}
		f.filter.States = append(f.filter.States, state)
	}
	if f.older < 0 {
		return nil, exit.New(exit.Usage, fmt.Errorf("--older-than %s is below zero", f.older), "write an age such as 90s, 15m or 24h")
	}
	if f.older > 0 {
		f.filter.SentBeforeMs = time.Now().Add(-f.older).UnixMilli()
	}
	return &f.filter, nil
}

func findCommand(o *options) *cobra.Command {
	f, limit := &filterFlags{}, 0
	c := &cobra.Command{
		Use: "find QUEUE", Short: "Find stored messages by group, id, body, attribute, state or age",
		Long: "Find stored messages in any state. This receives nothing and changes nothing. All flags must match. The command reads\n" +
			"the queue in pages until it has --limit messages, and says if it stopped before the end. In JSON, truncated tells so.",
		Example: "  seriatim msg find orders.fifo --group customer-9\n" +
			"  seriatim msg find orders.fifo --body '\"total\":0' --older-than 1h\n" +
			"  seriatim msg find jobs --attribute kind=image -o name",
		Args: arguments.Exactly("QUEUE"), ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			filter, err := f.read()
			if err != nil {
				return err
			}
			found, more, err := findAll(cmd.Context(), n, &api.FindMessagesRequest{
				Queue: qualifiedOf(args[0]), Filter: filter, PageSize: int32(min(limit, storedMax)), //nolint:gosec // at most 100
			}, limit)
			if err != nil {
				return err
			}
			if len(found) == 0 && p.format.ForPeople() {
				p.say("no message matches")
				return nil
			}
			if more {
				p.say("the search stopped at %s: raise --limit to find more", plural.Count(len(found), "message", "messages"))
			}
			return p.print(map[string]any{"messages": found, "truncated": more}, func() table { return foundTable(found) })
		}),
	}
	c.Flags().StringVar(&f.filter.MessageId, "message", "", "filter: message id")
	f.bind(c)
	c.Flags().IntVar(&limit, "limit", storedMax, "most messages to print")
	return c
}

func foundTable(found []document.Message) table {
	t := table{heading: []string{"SEQUENCE", "MESSAGE ID", "GROUP", "STATE", "SENT", "RECEIVES", "BODY"}}
	for _, m := range found {
		t.add(orDash(m.SequenceNumber), m.MessageID, orDash(m.GroupID), m.State, clockTime(decimal(m.SentAtMs)),
			decimal(m.ReceiveCount), shortened(transfer.ShownBody(m.Body, m.BodyEncoding)))
	}
	return t
}

// eachPage calls handle with each page of matching messages until it wants no more.
func eachPage(ctx context.Context, n *native.Conn, in *api.FindMessagesRequest,
	handle func(page []*api.PeekedMessage) (more bool, err error)) error {
	for {
		page, err := native.Get(ctx, n, func(ctx context.Context, to *api.Client) (*api.FoundMessages, error) {
			return to.FindMessages(ctx, in)
		})
		if err != nil {
			return err
		}
		more, err := handle(page.GetMessages())
		in.PageToken = page.GetNextPageToken()
		if err != nil || !more || in.PageToken == "" {
			return err
		}
	}
}

// findAll reads pages until it has limit messages or the queue ends. more reports that it did not read
// all of the queue.
func findAll(ctx context.Context, n *native.Conn, in *api.FindMessagesRequest, limit int) (found []document.Message, more bool,
	err error) {
	found = []document.Message{}
	err = eachPage(ctx, n, in, func(page []*api.PeekedMessage) (bool, error) {
		for _, m := range page {
			if len(found) == limit {
				more = true
				return false, nil
			}
			found = append(found, foundOf(m))
		}
		return len(found) < limit, nil
	})
	return found, more || in.PageToken != "", err
}

func foundOf(m *api.PeekedMessage) document.Message {
	stored := m.GetMessage()
	out := document.Message{
		MessageID: stored.GetMessageId(), SequenceNumber: sequenceText(stored.GetSequenceNumber()), GroupID: stored.GetGroupId(),
		DeduplicationID: stored.GetDeduplicationId(), SentAtMs: stored.GetSentAtMs(), ReceiveCount: int64(stored.GetReceiveCount()),
		State: strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(m.GetState().String(), "MESSAGE_STATE_"), "_", " ")),
	}
	out.Body, out.BodyEncoding = transfer.Body(stored)
	return out
}
