package grpc

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/attributes"
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
	// Which rule a name that is too long breaks depends on the kind of the queue, so
	// the command refuses it.
	name := c.qualify(cut(in.GetQueue(), limits.QueueNameLengthMax))
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
	return &seriatimpb.CreateQueueResponse{}, err
}

// DeleteQueue deletes a queue with all it holds.
func (q *queues) DeleteQueue(ctx context.Context, in *seriatimpb.DeleteQueueRequest) (*seriatimpb.DeleteQueueResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	_, err := c.Submit(ctx, &queue.DeleteQueue{Queue: c.queue})
	return &seriatimpb.DeleteQueueResponse{}, err
}

// PurgeQueue deletes all messages of a queue.
func (q *queues) PurgeQueue(ctx context.Context, in *seriatimpb.PurgeQueueRequest) (*seriatimpb.PurgeQueueResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	_, err := c.Submit(ctx, &queue.PurgeQueue{Queue: c.queue})
	return &seriatimpb.PurgeQueueResponse{}, err
}

// ListQueues lists the queues of the caller's account by name.
func (q *queues) ListQueues(ctx context.Context, in *seriatimpb.ListQueuesRequest) (*seriatimpb.ListQueuesResponse, error) {
	c := callOf(ctx)
	if err := c.permit(service.Resource{}); err != nil {
		return nil, err
	}
	p, refused := readPage(in.GetPageSize(), in.GetPageToken())
	if refused != nil {
		return nil, refused
	}
	var names []string
	err := c.Read(ctx, func(v queue.View) error {
		names = v.QueuesOf(c.Scope.Caller(), in.GetPrefix(), p.after, p.size+1)
		return nil
	})
	names, token := p.cut(names)
	return &seriatimpb.ListQueuesResponse{Queues: plainNames(names), NextPageToken: token}, err
}

// ListDeadLetterSources lists the queues that send their dead letters here.
func (q *queues) ListDeadLetterSources(ctx context.Context, in *seriatimpb.ListDeadLetterSourcesRequest) (*seriatimpb.ListDeadLetterSourcesResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	p, refused := readPage(in.GetPageSize(), in.GetPageToken())
	if refused != nil {
		return nil, c.refuse(ctx, refused)
	}
	var names []string
	err := c.Read(ctx, func(v queue.View) error {
		if names, refused = v.DeadLetterSources(c.queue, p.after, p.size+1); refused != nil {
			return refused
		}
		return nil
	})
	names, token := p.cut(names)
	return &seriatimpb.ListDeadLetterSourcesResponse{Queues: plainNames(names), NextPageToken: token}, err
}

// GetQueueAttributes reads attributes and counters.
func (q *queues) GetQueueAttributes(ctx context.Context, in *seriatimpb.GetQueueAttributesRequest) (*seriatimpb.GetQueueAttributesResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	var listed []queue.Attribute
	err := c.Read(ctx, func(v queue.View) error {
		var refused *queue.Error
		if listed, refused = v.Attributes(c.queue); refused != nil {
			return refused
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	names := in.GetNames()
	for _, n := range names {
		if !attributes.Known(n) {
			return nil, refusal.UnknownAttribute(n)
		}
	}
	attributes.ClaimEncryption(listed, q.server.Node.EncryptsAtRest())
	listed = append(listed, queue.Attribute{Name: "QueueArn", Value: q.server.Names.QueueARN(c.queue)})
	out := &seriatimpb.GetQueueAttributesResponse{Attributes: make(map[string]string)}
	for _, a := range listed {
		if len(names) == 0 || slices.Contains(names, a.Name) {
			out.Attributes[a.Name] = a.Value
		}
	}
	return out, nil
}

// SetQueueAttributes changes attributes, all or none.
func (q *queues) SetQueueAttributes(ctx context.Context, in *seriatimpb.SetQueueAttributesRequest) (*seriatimpb.SetQueueAttributesResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
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
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	switch {
	case in.GetLabel() == "":
		return nil, refusal.MissingParameter("label")
	case len(in.GetAccountIds()) == 0:
		return nil, refusal.MissingParameter("account_ids")
	case len(in.GetActions()) == 0:
		return nil, refusal.MissingParameter("actions")
	}
	_, err := c.Submit(ctx, &queue.SetQueuePolicy{
		Queue: c.queue, QueueARN: q.server.Names.QueueARN(c.queue), Label: in.GetLabel(), AccountIDs: in.GetAccountIds(), Actions: in.GetActions(),
	})
	return &seriatimpb.AddPermissionResponse{}, err
}

// RemovePermission removes a statement from the access policy of a queue.
func (q *queues) RemovePermission(ctx context.Context, in *seriatimpb.RemovePermissionRequest) (*seriatimpb.RemovePermissionResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	if in.GetLabel() == "" {
		return nil, refusal.MissingParameter("label")
	}
	_, err := c.Submit(ctx, &queue.SetQueuePolicy{Queue: c.queue, QueueARN: q.server.Names.QueueARN(c.queue), Label: in.GetLabel(), Remove: true})
	return &seriatimpb.RemovePermissionResponse{}, err
}

// TagQueue adds tags or overwrites them.
func (q *queues) TagQueue(ctx context.Context, in *seriatimpb.TagQueueRequest) (*seriatimpb.TagQueueResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
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
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	if len(in.GetKeys()) == 0 {
		return nil, c.refuse(ctx, refusal.InvalidParameter("Tag keys must be between 1 and 128 characters in length."))
	}
	keys := slices.Clone(in.GetKeys())
	slices.Sort(keys)
	_, err := c.Submit(ctx, &queue.SetQueueTags{Queue: c.queue, Remove: slices.Compact(keys)})
	return &seriatimpb.UntagQueueResponse{}, err
}

// ListQueueTags lists all tags of a queue.
func (q *queues) ListQueueTags(ctx context.Context, in *seriatimpb.ListQueueTagsRequest) (*seriatimpb.ListQueueTagsResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	out := &seriatimpb.ListQueueTagsResponse{Tags: make(map[string]string)}
	err := c.Read(ctx, func(v queue.View) error {
		tags, refused := v.Tags(c.queue)
		if refused != nil {
			return refused
		}
		for _, t := range tags {
			out.Tags[t.Key] = t.Value
		}
		return nil
	})
	return out, err
}

// plainNames are names without the account that they have in common.
func plainNames(qualified []string) []string {
	for i, name := range qualified {
		qualified[i] = account.PlainName(name)
	}
	return qualified
}

// queueAttributes are attributes in the form of the domain: sorted by name.
func queueAttributes(values map[string]string) []queue.Attribute {
	out := make([]queue.Attribute, 0, len(values))
	for name, value := range values {
		out = append(out, queue.Attribute{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b queue.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// queueTags are tags in the form of the domain: sorted by key.
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

// page is one step through a list sorted by name.
type page struct {
	after string // the last name of the page before, or what stands for it
	size  int
}

// tokenPrefix begins the decoded form of a page token, so that text which merely
// happens to be base64 is refused.
const tokenPrefix = "after:"

func readPage(size int32, token string) (page, *queue.Error) {
	p := page{size: int(size)}
	if size == 0 {
		p.size = limits.ListQueuesMax
	}
	if p.size < 1 || p.size > limits.ListQueuesMax {
		return page{}, refusal.InvalidValue(strconv.Itoa(p.size), "page_size", "Must be between 1 and 1000, if provided.")
	}
	if token == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	after, ok := strings.CutPrefix(string(raw), tokenPrefix)
	if err != nil || !ok {
		return page{}, badPageToken(token)
	}
	p.after = after
	return p, nil
}

func badPageToken(token string) *queue.Error {
	return refusal.InvalidValue(token, "page_token", "It was not returned by this method.")
}

// pageToken is the token of the page behind something.
func pageToken(after string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + after))
}

// cut makes a page of names, one more than it holds if there is a next one.
func (p page) cut(names []string) (kept []string, token string) {
	if len(names) <= p.size {
		return names, ""
	}
	names = names[:p.size]
	return names, pageToken(names[p.size-1])
}
