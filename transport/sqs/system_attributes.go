package sqs

import (
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/awswire"
)

// systemAttributeNames are the attributes that SQS itself gives a message.
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

// systemFilter selects the systemAttributeNames that a receive asks for.
type systemFilter struct {
	all   bool
	names []string
}

// newSystemFilter joins the two lists that ask for system attributes. Names of
// queue attributes are let through: the deprecated list was typed as queue
// attributes for years, so old clients name them and get nothing for it.
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

func (f systemFilter) wants(name string) bool { return f.all || slices.Contains(f.names, name) }

// systemAttributes lists what was asked for and has a value, sorted by name.
func (s *Service) systemAttributes(m *queue.ReceivedMessage, f systemFilter) []awswire.Pair {
	if !f.all && len(f.names) == 0 {
		return nil
	}
	out := make([]awswire.Pair, 0, len(systemAttributeNames))
	for _, name := range systemAttributeNames {
		if !f.wants(name) {
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
		return m.DeduplicationID
	case "MessageGroupId":
		return m.GroupID
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
