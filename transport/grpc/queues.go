package grpc

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// queues implements the service. Safe for concurrent use.
type queues struct {
	seriatimpb.UnimplementedQueuesServer
	server *Server
}

// CreateQueue creates a queue, or confirms an equal one.
func (q *queues) CreateQueue(ctx context.Context, in *seriatimpb.CreateQueueRequest) (*seriatimpb.CreateQueueResponse, error) {
	c := callOf(ctx)
	if in.GetQueue() == "" {
		return nil, refusal.MissingParameter("queue")
	}
	// The limit for names depends on the kind of the queue, so the command refuses long ones.
	name := c.qualify(shorten(in.GetQueue(), limits.FIFONameLengthMax))
	c.Record.Queue = name
	if err := c.permit(service.Resource{Name: name}); err != nil {
		return nil, err
	}
	given := queueAttributes(in.GetAttributes())
	if refused := q.server.Names.CheckRedrive(given); refused != nil {
		return nil, refused
	}
	tags, err := queueTags(in.GetTags())
	if err != nil {
		return nil, err
	}
	_, err = c.Submit(ctx, &queue.CreateQueue{Queue: name, Attributes: given, Tags: tags})
	return &seriatimpb.CreateQueueResponse{QueueArn: q.server.Names.QueueARN(name)}, err
}

// DeleteQueue deletes a queue with its messages.
func (q *queues) DeleteQueue(ctx context.Context, in *seriatimpb.DeleteQueueRequest) (*seriatimpb.DeleteQueueResponse, error) {
	c := callOf(ctx)
	_, err := c.Submit(ctx, &queue.DeleteQueue{Queue: c.queue})
	return &seriatimpb.DeleteQueueResponse{}, err
}

// PurgeQueue deletes all messages of a queue.
func (q *queues) PurgeQueue(ctx context.Context, in *seriatimpb.PurgeQueueRequest) (*seriatimpb.PurgeQueueResponse, error) {
	c := callOf(ctx)
	_, err := c.Submit(ctx, &queue.PurgeQueue{Queue: c.queue})
	return &seriatimpb.PurgeQueueResponse{}, err
}

// ListQueues lists the queues of the caller's account by name.
func (q *queues) ListQueues(ctx context.Context, in *seriatimpb.ListQueuesRequest) (*seriatimpb.ListQueuesResponse, error) {
	c := callOf(ctx)
	p, refused := readPage(in.GetPageSize(), in.GetPageToken())
	if refused != nil {
		return nil, refused
	}
	names, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]string, *queue.Error) {
		return v.QueuesOf(c.Scope.Caller(), in.GetPrefix(), p.after, p.size+1), nil
	})
	names, token := cut(p, names, itself)
	return &seriatimpb.ListQueuesResponse{Queues: plainNames(names), NextPageToken: token, Account: c.Scope.CallerID()}, err
}

// ListDeadLetterSources lists the queues whose dead-letter queue this is.
func (q *queues) ListDeadLetterSources(ctx context.Context,
	in *seriatimpb.ListDeadLetterSourcesRequest) (*seriatimpb.ListDeadLetterSourcesResponse, error) {
	c := callOf(ctx)
	p, refused := readPage(in.GetPageSize(), in.GetPageToken())
	if refused != nil {
		return nil, c.refuse(ctx, refused)
	}
	names, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]string, *queue.Error) {
		return v.DeadLetterSources(c.queue, p.after, p.size+1)
	})
	names, token := cut(p, names, itself)
	return &seriatimpb.ListDeadLetterSourcesResponse{Queues: plainNames(names), NextPageToken: token}, err
}

// GetQueueAttributes reads attributes and counters.
func (q *queues) GetQueueAttributes(ctx context.Context,
	in *seriatimpb.GetQueueAttributesRequest) (*seriatimpb.GetQueueAttributesResponse, error) {
	c := callOf(ctx)
	listed, err := service.QueueAttributes(ctx, &c.Call, q.server.Node.EncryptsAtRest(), in.GetNames(), len(in.GetNames()) == 0)
	return &seriatimpb.GetQueueAttributesResponse{Attributes: attributeMap(listed)}, err
}

// SetQueueAttributes changes attributes, all or none.
func (q *queues) SetQueueAttributes(ctx context.Context,
	in *seriatimpb.SetQueueAttributesRequest) (*seriatimpb.SetQueueAttributesResponse, error) {
	c := callOf(ctx)
	if len(in.GetAttributes()) == 0 {
		return nil, refusal.MissingParameter("attributes")
	}
	given := queueAttributes(in.GetAttributes())
	if refused := q.server.Names.CheckRedrive(given); refused != nil {
		return nil, c.refuse(ctx, refused)
	}
	_, err := c.Submit(ctx, &queue.SetQueueAttributes{Queue: c.queue, Attributes: given})
	return &seriatimpb.SetQueueAttributesResponse{}, err
}

// AddPermission adds a statement to the access policy of a queue.
func (q *queues) AddPermission(ctx context.Context, in *seriatimpb.AddPermissionRequest) (*seriatimpb.AddPermissionResponse, error) {
	c := callOf(ctx)
	switch {
	case in.GetLabel() == "":
		return nil, refusal.MissingParameter("label")
	case len(in.GetAccountIds()) == 0:
		return nil, refusal.MissingParameter("account_ids")
	case len(in.GetActions()) == 0:
		return nil, refusal.MissingParameter("actions")
	}
	_, err := c.Submit(ctx, &queue.SetQueuePolicy{
		Queue: c.queue, QueueARN: q.server.Names.QueueARN(c.queue), Label: in.GetLabel(), AccountIDs: in.GetAccountIds(),
		Actions: in.GetActions(),
	})
	return &seriatimpb.AddPermissionResponse{}, err
}

// RemovePermission removes a statement from the access policy of a queue.
func (q *queues) RemovePermission(ctx context.Context, in *seriatimpb.RemovePermissionRequest) (*seriatimpb.RemovePermissionResponse,
	error) {
	c := callOf(ctx)
	if in.GetLabel() == "" {
		return nil, refusal.MissingParameter("label")
	}
	_, err := c.Submit(ctx, &queue.SetQueuePolicy{Queue: c.queue, QueueARN: q.server.Names.QueueARN(c.queue), Label: in.GetLabel(),
		Remove: true})
	return &seriatimpb.RemovePermissionResponse{}, err
}

// TagQueue adds tags or overwrites them.
func (q *queues) TagQueue(ctx context.Context, in *seriatimpb.TagQueueRequest) (*seriatimpb.TagQueueResponse, error) {
	c := callOf(ctx)
	if len(in.GetTags()) == 0 {
		return nil, refusal.MissingParameter("tags")
	}
	tags, err := queueTags(in.GetTags())
	if err != nil {
		return nil, err
	}
	_, err = c.Submit(ctx, &queue.SetQueueTags{Queue: c.queue, Set: tags})
	return &seriatimpb.TagQueueResponse{}, err
}

// UntagQueue removes tags; unknown keys are ignored.
func (q *queues) UntagQueue(ctx context.Context, in *seriatimpb.UntagQueueRequest) (*seriatimpb.UntagQueueResponse, error) {
	c := callOf(ctx)
	if len(in.GetKeys()) == 0 {
		return nil, c.refuse(ctx, refusal.InvalidParameter("Tag keys must be between 1 and 128 characters in length."))
	}
	keys := slices.Compact(slices.Sorted(slices.Values(in.GetKeys())))
	_, err := c.Submit(ctx, &queue.SetQueueTags{Queue: c.queue, Remove: keys})
	return &seriatimpb.UntagQueueResponse{}, err
}

// ListQueueTags lists all tags of a queue.
func (q *queues) ListQueueTags(ctx context.Context, in *seriatimpb.ListQueueTagsRequest) (*seriatimpb.ListQueueTagsResponse, error) {
	c := callOf(ctx)
	tags, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.Tag, *queue.Error) { return v.Tags(c.queue) })
	return &seriatimpb.ListQueueTagsResponse{Tags: tagMap(tags)}, err
}

// plainNames removes the account, which all names share.
func plainNames(qualified []string) []string {
	for i, name := range qualified {
		qualified[i] = access.PlainName(name)
	}
	return qualified
}

// queueAttributes converts attributes, sorted by name.
func queueAttributes(values map[string]string) []queue.Attribute {
	out := make([]queue.Attribute, 0, len(values))
	for name, value := range values {
		out = append(out, queue.Attribute{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b queue.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// queueTags converts tags, sorted by key.
func queueTags(values map[string]string) ([]queue.Tag, error) {
	out := make([]queue.Tag, 0, len(values))
	for key, value := range values {
		out = append(out, queue.Tag{Key: key, Value: value})
	}
	slices.SortFunc(out, func(a, b queue.Tag) int { return strings.Compare(a.Key, b.Key) })
	if reason := service.BadTag(out); reason != "" {
		return nil, refusal.InvalidParameter(reason)
	}
	return out, nil
}

// page is one page of a sorted list.
type page struct {
	after string // the last name of the page before, or its encoded position
	size  int
}

func readPage(size int32, token string) (page, *queue.Error) {
	p := page{size: int(size)}
	if size == 0 {
		p.size = limits.ListQueuesMax
	}
	if p.size < 1 || p.size > limits.ListQueuesMax {
		return page{}, refusal.InvalidValue(strconv.Itoa(p.size), "page_size", "Must be between 1 and 1000, if provided.")
	}
	after, ok := service.ReadPageToken(token)
	if !ok {
		return page{}, badPageToken(token)
	}
	p.after = after
	return p, nil
}

func tagMap(tags []queue.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[t.Key] = t.Value
	}
	return out
}

func badPageToken(token string) *queue.Error {
	return refusal.InvalidValue(token, "page_token", "It was not returned by this method.")
}

// cut cuts a list of up to size+1 elements to a page, and returns the token of the next page,
// if there is one. position returns the text of an element for the token.
func cut[T any](p page, list []T, position func(T) string) (kept []T, token string) {
	if len(list) <= p.size {
		return list, ""
	}
	return list[:p.size], service.PageToken(position(list[p.size-1]))
}

func itself(name string) string { return name }
