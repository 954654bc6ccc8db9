// Package client calls the administration API of a Service Bus namespace, or of this server.
package client

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/auth/sas"
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

// Create creates an entity without its subscriptions. The error is a *Refused with status 409 if there is
// one already.
func (c *Client) Create(ctx context.Context, of Kind, e description.Entity) error {
	var body bytes.Buffer
	body.WriteString(`<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><` + string(of) + ` ` +
		`xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">`)
	for _, p := range e.Properties {
		body.WriteString("<" + p.Name + ">")
		if err := xml.EscapeText(&body, []byte(p.Value)); err != nil {
			return err
		}
		body.WriteString("</" + p.Name + ">")
	}
	body.WriteString("</" + string(of) + "></content></entry>")
	_, err := c.call(ctx, http.MethodPut, e.Path, url.Values{}, &body)
	return err
}

// feed is a page of a list of entities.
type feed struct {
	Entries []struct {
		Title   string `xml:"title"`
		Content struct {
			Descriptions []struct {
				Properties []struct {
					XMLName  xml.Name
					Value    string     `xml:",chardata"`
					Children []struct{} `xml:",any"`
				} `xml:",any"`
			} `xml:",any"`
		} `xml:"content"`
	} `xml:"entry"`
}

// Queues lists the queues with all their properties, as the namespace describes them.
func (c *Client) Queues(ctx context.Context) ([]description.Entity, error) {
	return c.list(ctx, "$Resources/queues")
}

// Topics lists the topics with all their properties and their subscriptions.
func (c *Client) Topics(ctx context.Context) ([]description.Entity, error) {
	list, err := c.list(ctx, "$Resources/topics")
	for i := range list {
		if err == nil {
			list[i].Subscriptions, err = c.list(ctx, list[i].Path+"/Subscriptions")
		}
	}
	return list, err
}

func (c *Client) list(ctx context.Context, path string) (list []description.Entity, err error) {
	for {
		page := url.Values{"$skip": {strconv.Itoa(len(list))}, "$top": {strconv.Itoa(pageEntities)}}
		answer, err := c.call(ctx, http.MethodGet, path, page, nil)
		if err != nil {
			return nil, err
		}
		var f feed
		if err := xml.Unmarshal(answer, &f); err != nil {
			return nil, fmt.Errorf("the list %s cannot be read: %w", path, err)
		}
		for _, e := range f.Entries {
			q := description.Entity{Path: e.Title}
			if len(e.Content.Descriptions) != 1 {
				return nil, fmt.Errorf("the list %s cannot be read: %s has no description", path, e.Title)
			}
			for _, p := range e.Content.Descriptions[0].Properties {
				if len(p.Children) == 0 {
					q.Properties = append(q.Properties, description.Property{Name: p.XMLName.Local, Value: strings.TrimSpace(p.Value)})
				}
			}
			list = append(list, q)
		}
		if len(f.Entries) < pageEntities {
			return list, nil
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
