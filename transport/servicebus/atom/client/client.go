// Package client calls the administration API of a Service Bus namespace, or of this server.
package client

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
)

const (
	version      = "2021-05"
	tokenLife    = 5 * time.Minute
	answerMax    = 16 << 20
	pageEntities = 100
)

// Client calls a namespace. Safe for concurrent use.
type Client struct {
	Endpoint   string // such as https://name.servicebus.windows.net
	KeyID, Key string // empty: no token
	HTTP       *http.Client
	Now        func() time.Time
}

// Refused is the answer of the namespace to a request that it refuses.
type Refused struct {
	Status int
	Detail string
}

// Error returns the status and the detail.
func (e *Refused) Error() string { return strconv.Itoa(e.Status) + " " + e.Detail }

// Kind is a kind of entity: the name of its description.
type Kind string

// Kinds of entities.
const (
	Queue        Kind = "QueueDescription"
	Topic        Kind = "TopicDescription"
	Subscription Kind = "SubscriptionDescription"
)

// Create creates an entity with its rules, but without its subscriptions. The error is a *Refused with
// status 409 if there is one already. If a rule is refused, the subscription is deleted again.
func (c *Client) Create(ctx context.Context, of Kind, e description.Entity) error {
	var parts []document.Element
	for _, p := range e.Properties {
		parts = append(parts, document.Text(p.Name, p.Value))
	}
	if len(e.Rules) > 0 {
		first := document.Text("DefaultRuleDescription", "")
		first.Children = document.Rule(&e.Rules[0], "")
		parts = append(parts, first)
	}
	if err := c.put(ctx, e.Path, string(of), parts); err != nil || e.Rules == nil {
		return err
	}
	err := c.createRules(ctx, e.Path+"/Rules/", e.Rules)
	if err != nil {
		_, undone := c.call(context.WithoutCancel(ctx), http.MethodDelete, e.Path, url.Values{}, nil)
		err = errors.Join(err, undone)
	}
	return err
}

// createRules creates the rules of a new subscription, which has the first one.
func (c *Client) createRules(ctx context.Context, path string, list []rules.Definition) error {
	if len(list) == 0 {
		_, err := c.call(ctx, http.MethodDelete, path+rules.DefaultName, url.Values{}, nil)
		return err
	}
	for i := range list[1:] {
		d := &list[1+i]
		if err := c.put(ctx, path+url.PathEscape(d.Name), "RuleDescription", document.Rule(d, "")); err != nil {
			return fmt.Errorf("rule %s: %w", d.Name, err)
		}
	}
	return nil
}

// put creates an object of the namespace.
func (c *Client) put(ctx context.Context, path, description string, parts []document.Element) error {
	var body struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom entry"`
		Content struct {
			Type        string `xml:"type,attr"`
			Description document.Element
		} `xml:"content"`
	}
	body.Content.Type, body.Content.Description = "application/xml", document.Description(description, parts)
	text, err := xml.Marshal(body)
	if err == nil {
		_, err = c.call(ctx, http.MethodPut, path, url.Values{}, bytes.NewReader(text))
	}
	return err
}

// feed is a page of a list.
type feed struct {
	Entries []struct {
		Title   string `xml:"title"`
		Content struct {
			Descriptions []document.Element `xml:",any"`
		} `xml:"content"`
	} `xml:"entry"`
}

// Queues lists the queues with all their properties, as the namespace describes them.
func (c *Client) Queues(ctx context.Context) ([]description.Entity, error) {
	return c.list(ctx, "$Resources/queues")
}

// Topics lists the topics with all their properties and their subscriptions with rules.
func (c *Client) Topics(ctx context.Context) ([]description.Entity, error) {
	list, err := c.list(ctx, "$Resources/topics")
	for i := range list {
		if err == nil {
			err = c.subscriptions(ctx, &list[i])
		}
	}
	return list, err
}

// subscriptions adds the subscriptions of a topic.
func (c *Client) subscriptions(ctx context.Context, t *description.Entity) (err error) {
	t.Subscriptions, err = c.list(ctx, t.Path+"/Subscriptions")
	for i := range t.Subscriptions {
		s := &t.Subscriptions[i]
		s.Rules = []rules.Definition{}
		path := t.Path + "/Subscriptions/" + s.Path + "/Rules"
		if err == nil {
			err = c.each(ctx, path, func(name string, e *document.Element) error {
				d, err := document.ReadRule(e)
				if err != nil {
					return fmt.Errorf("the list %s cannot be read: rule %s: %w", path, name, err)
				}
				d.Name = name
				s.Rules = append(s.Rules, d)
				return nil
			})
		}
	}
	return err
}

func (c *Client) list(ctx context.Context, path string) (list []description.Entity, err error) {
	err = c.each(ctx, path, func(name string, e *document.Element) error {
		q := description.Entity{Path: name}
		for i := range e.Children {
			if p := &e.Children[i]; len(p.Children) == 0 {
				q.Properties = append(q.Properties, description.Property{Name: p.XMLName.Local, Value: p.Value()})
			}
		}
		list = append(list, q)
		return nil
	})
	return list, err
}

// each visits the descriptions in a list.
func (c *Client) each(ctx context.Context, path string, visit func(name string, description *document.Element) error) error {
	for skip := 0; ; skip += pageEntities {
		page := url.Values{"$skip": {strconv.Itoa(skip)}, "$top": {strconv.Itoa(pageEntities)}}
		answer, err := c.call(ctx, http.MethodGet, path, page, nil)
		if err != nil {
			return err
		}
		var f feed
		if err := xml.Unmarshal(answer, &f); err != nil {
			return fmt.Errorf("the list %s cannot be read: %w", path, err)
		}
		for i := range f.Entries {
			e := &f.Entries[i]
			if len(e.Content.Descriptions) != 1 {
				return fmt.Errorf("the list %s cannot be read: %s has no description", path, e.Title)
			}
			if err := visit(e.Title, &e.Content.Descriptions[0]); err != nil {
				return err
			}
		}
		if len(f.Entries) < pageEntities {
			return nil
		}
	}
}

// call sends a request and returns the body of the answer.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body io.Reader) ([]byte, error) {
	query.Set("api-version", version)
	target, err := url.Parse(strings.TrimSuffix(c.Endpoint, "/") + "/" + path + "?" + query.Encode())
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, err
	}
	if c.KeyID != "" {
		r.Header.Set("Authorization", sas.Sign(c.Endpoint, c.KeyID, c.Key, c.Now().Add(tokenLife)))
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/atom+xml;type=entry;charset=utf-8")
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it is only read
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 300 {
		return answer, nil
	}
	var refused struct {
		Detail string `xml:"Detail"`
	}
	if xml.Unmarshal(answer, &refused) != nil || refused.Detail == "" {
		refused.Detail = http.StatusText(response.StatusCode)
	}
	return nil, &Refused{response.StatusCode, refused.Detail}
}
