package sqs

import (
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/rendition"
	"github.com/seriatimq/seriatim/transport/awswire"
)

// systemAttributeNames lists the attributes that SQS adds to a message.
var systemAttributeNames = [...]string{
	"AWSTraceHeader",
	"ApproximateFirstReceiveTimestamp",
	"ApproximateReceiveCount",
	"DeadLetterQueueSourceArn",
	"MessageDeduplicationId",
	"MessageGroupId",
	"SenderId",
	"SentTimestamp",
	"SequenceNumber",
}

// systemFilter selects systemAttributeNames for a receive.
type systemFilter struct {
	all   bool
	names []string
}

// newSystemFilter joins the two lists of system attributes. It ignores names of queue attributes: the
// model had them in the deprecated list for years, so old clients send them.
func newSystemFilter(lists ...[]string) (systemFilter, *queue.Error) {
	var f systemFilter
	for _, list := range lists {
		for _, name := range list {
			known := slices.Index(systemAttributeNames[:], name)
			switch {
			case name == attributeAll:
				f.all = true
			case known >= 0:
				f.names = append(f.names, systemAttributeNames[known]) // the filter outlives the request
			case !attributes.Known(name):
				return systemFilter{}, refusal.UnknownAttribute(name)
			}
		}
	}
	return f, nil
}

func (f systemFilter) has(name string) bool { return f.all || slices.Contains(f.names, name) }

// systemAttributes lists the selected attributes that have a value, sorted by name.
func (s *Service) systemAttributes(m *queue.ReceivedMessage, f systemFilter) []awswire.Pair {
	if !f.all && len(f.names) == 0 {
		return nil
	}
	out := make([]awswire.Pair, 0, len(systemAttributeNames))
	for _, name := range systemAttributeNames {
		if !f.has(name) {
			continue
		}
		if value := s.systemAttribute(m, name); value != "" {
			out = append(out, awswire.Pair{Key: name, Value: value})
		}
	}
	return out
}

func (s *Service) systemAttribute(m *queue.ReceivedMessage, name string) string {
	switch name {
	case "AWSTraceHeader":
		return m.TraceHeader
	case "ApproximateFirstReceiveTimestamp":
		return strconv.FormatInt(int64(m.FirstReceivedAt), 10)
	case "ApproximateReceiveCount":
		return strconv.FormatInt(m.ReceiveCount, 10)
	case "DeadLetterQueueSourceArn":
		if m.DeadLetterSource != "" {
			return s.Names.QueueARN(m.DeadLetterSource)
		}
	case "MessageDeduplicationId":
		return rendition.ID(m.DeduplicationID)
	case "MessageGroupId":
		return rendition.ID(m.GroupID)
	case "SenderId":
		return m.SenderID
	case "SentTimestamp":
		return strconv.FormatInt(int64(m.SentAt), 10)
	case "SequenceNumber":
		if m.Sequence != 0 {
			return m.Sequence.String()
		}
	}
	return ""
}
