package atom

import (
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
)

// isMissing reports whether an error says that a queue or a topic does not exist.
func isMissing(err error) bool {
	var refused *queue.Error
	return errors.As(err, &refused) && (refused.Code == refusal.QueueDoesNotExist || refused.Code == refusal.NotFound)
}

// namespaceInfo describes the namespace. Its name is the host that the client used. The sort is Premium,
// because that is the one with messages of 1 MiB.
func (c *call) namespaceInfo() error {
	if err := c.begin(listQueues, ""); err != nil {
		return err
	}
	if err := c.catchUp(); err != nil {
		return err
	}
	name := c.r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	e := c.newEntry(c.path, name, document.Description("NamespaceInfo", []document.Element{
		document.Text("CreatedTime", never+"Z"), document.Text("MessagingSKU", "Premium"), document.Text("MessagingUnits", "1"),
		document.Text("ModifiedTime", never+"Z"), document.Text("Name", name), document.Text("NamespaceType", "Messaging"),
	}))
	e.Updated = c.updated()
	return c.write(http.StatusOK, e)
}

// catchUp reads a state that contains all acknowledged changes.
func (c *call) catchUp() error { return c.Read(c.ctx, func(queue.View) error { return nil }) }

// newFeed returns a feed with one link, to itself.
func (c *call) newFeed(title, path string, entries []entry) feed {
	id := c.href(path, c.r.URL.RawQuery)
	return feed{Title: text{"text", title}, ID: id, Updated: c.updated(), Links: []link{{"self", id}}, Entries: entries}
}

// updated returns the log time of the answer.
func (c *call) updated() string {
	return time.UnixMilli(int64(c.Position.LogTime)).UTC().Format(time.RFC3339)
}
