package grpc

import (
	"context"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// topics implements the service. Safe for concurrent use.
type topics struct {
	seriatimpb.UnimplementedTopicsServer
	server *Server
}

func (c *call) onTopic(name string) error {
	if name == "" {
		return refusal.MissingParameter("topic")
	}
	if len(access.PlainName(name)) > limits.FIFONameLengthMax {
		return refusal.NoSuchTopic()
	}
	c.topic = strings.Clone(c.qualify(name)) // it outlives the text of the request
	c.Record.Topic = c.topic
	return c.permit(service.Resource{Topic: c.topic})
}

// CreateTopic creates a topic, or confirms an equal one.
func (t *topics) CreateTopic(ctx context.Context, in *seriatimpb.CreateTopicRequest) (*seriatimpb.CreateTopicResponse, error) {
	c := callOf(ctx)
	if in.GetTopic() == "" {
		return nil, refusal.MissingParameter("topic")
	}
	name := c.qualify(shorten(in.GetTopic(), limits.FIFONameLengthMax))
	c.Record.Topic = name
	if err := c.permit(service.Resource{Topic: name}); err != nil {
		return nil, err
	}
	tags, err := queueTags(in.GetTags())
	if err != nil {
		return nil, err
	}
	created, err := service.Submit[queue.TopicCreated](ctx, &c.Call, &queue.CreateTopic{
		Topic: name, TopicARN: t.server.Names.TopicARN(name), Attributes: queueAttributes(in.GetAttributes()), Tags: tags,
	})
	return &seriatimpb.CreateTopicResponse{TopicArn: created.TopicARN}, err
}

// DeleteTopic deletes a topic with its subscriptions.
func (t *topics) DeleteTopic(ctx context.Context, in *seriatimpb.DeleteTopicRequest) (*seriatimpb.DeleteTopicResponse, error) {
	c := callOf(ctx)
	_, err := c.Submit(ctx, &queue.DeleteTopic{Topic: c.topic})
	return &seriatimpb.DeleteTopicResponse{}, err
}

// ListTopics lists the topics of the caller's account by name.
func (t *topics) ListTopics(ctx context.Context, in *seriatimpb.ListTopicsRequest) (*seriatimpb.ListTopicsResponse, error) {
	c := callOf(ctx)
	p, refused := readPage(in.GetPageSize(), in.GetPageToken())
	if refused != nil {
		return nil, refused
	}
	names, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]string, *queue.Error) {
		return v.TopicsOf(c.Scope.Caller(), p.after, p.size+1), nil
	})
	names, token := cut(p, names, itself)
	return &seriatimpb.ListTopicsResponse{Topics: plainNames(names), NextPageToken: token}, err
}

// GetTopicAttributes reads attributes and counters.
func (t *topics) GetTopicAttributes(ctx context.Context,
	in *seriatimpb.GetTopicAttributesRequest) (*seriatimpb.GetTopicAttributesResponse, error) {
	c := callOf(ctx)
	listed, err := service.TopicAttributes(ctx, &c.Call)
	return &seriatimpb.GetTopicAttributesResponse{Attributes: attributeMap(listed)}, err
}

// SetTopicAttributes changes attributes, all or none.
func (t *topics) SetTopicAttributes(ctx context.Context,
	in *seriatimpb.SetTopicAttributesRequest) (*seriatimpb.SetTopicAttributesResponse, error) {
	c := callOf(ctx)
	if len(in.GetAttributes()) == 0 {
		return nil, refusal.MissingParameter("attributes")
	}
	_, err := c.Submit(ctx, &queue.SetTopicAttributes{Topic: c.topic, Attributes: queueAttributes(in.GetAttributes())})
	return &seriatimpb.SetTopicAttributesResponse{}, err
}

// AddTopicPermission adds a statement to the access policy of a topic.
func (t *topics) AddTopicPermission(ctx context.Context,
	in *seriatimpb.AddTopicPermissionRequest) (*seriatimpb.AddTopicPermissionResponse, error) {
	c := callOf(ctx)
	_, err := c.Submit(ctx, &queue.SetTopicPolicy{Topic: c.topic, Label: in.GetLabel(), AccountIDs: in.GetAccountIds(),
		Actions: in.GetActions()})
	return &seriatimpb.AddTopicPermissionResponse{}, err
}

// RemoveTopicPermission removes a statement from the access policy of a topic.
func (t *topics) RemoveTopicPermission(ctx context.Context,
	in *seriatimpb.RemoveTopicPermissionRequest) (*seriatimpb.RemoveTopicPermissionResponse, error) {
	c := callOf(ctx)
	_, err := c.Submit(ctx, &queue.SetTopicPolicy{Topic: c.topic, Label: in.GetLabel(), Remove: true})
	return &seriatimpb.RemoveTopicPermissionResponse{}, err
}

// TagTopic adds tags or overwrites them.
func (t *topics) TagTopic(ctx context.Context, in *seriatimpb.TagTopicRequest) (*seriatimpb.TagTopicResponse, error) {
	c := callOf(ctx)
	if len(in.GetTags()) == 0 {
		return nil, refusal.MissingParameter("tags")
	}
	tags, err := queueTags(in.GetTags())
	if err != nil {
		return nil, err
	}
	_, err = c.Submit(ctx, &queue.SetTopicTags{Topic: c.topic, Set: tags})
	return &seriatimpb.TagTopicResponse{}, err
}

// UntagTopic removes tags; unknown keys are ignored.
func (t *topics) UntagTopic(ctx context.Context, in *seriatimpb.UntagTopicRequest) (*seriatimpb.UntagTopicResponse, error) {
	c := callOf(ctx)
	if len(in.GetKeys()) == 0 {
		return nil, refusal.MissingParameter("keys")
	}
	keys := slices.Compact(slices.Sorted(slices.Values(in.GetKeys())))
	_, err := c.Submit(ctx, &queue.SetTopicTags{Topic: c.topic, Remove: keys})
	return &seriatimpb.UntagTopicResponse{}, err
}

// ListTopicTags lists all tags of a topic.
func (t *topics) ListTopicTags(ctx context.Context, in *seriatimpb.ListTopicTagsRequest) (*seriatimpb.ListTopicTagsResponse, error) {
	c := callOf(ctx)
	tags, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.Tag, *queue.Error) { return v.TopicTags(c.topic) })
	return &seriatimpb.ListTopicTagsResponse{Tags: tagMap(tags)}, err
}

func attributeMap(listed []queue.Attribute) map[string]string {
	out := make(map[string]string, len(listed))
	for _, a := range listed {
		out[a.Name] = a.Value
	}
	return out
}
