package atom

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/entity/lookup"
)

// pageMax bounds the entries of a page, as Service Bus does.
const pageMax = 100

// page reads $skip and $top.
func (c *call) page() (skip, top int, err error) {
	top = pageMax
	for _, p := range []struct {
		name  string
		least int
		value *int
	}{{"$skip", 0, &skip}, {"$top", 1, &top}} {
		text := c.query.Get(p.name)
		if text == "" {
			continue
		}
		if *p.value, err = strconv.Atoi(text); err != nil || *p.value < p.least {
			return 0, 0, badRequest("The parameter " + p.name + " must be a number from " + strconv.Itoa(p.least) + " on.")
		}
	}
	return skip, min(top, pageMax), nil
}

// list answers with a page of the entities that a scan visits, in its order. It refuses a caller who may
// not read one of them.
func (c *call) list(title string, reads action, scan func(lookup.In, func(lookup.Entity) bool) error,
	read func(queue.View, *lookup.Entity) (entry, error)) error {
	skip, top, err := c.page()
	if err != nil {
		return err
	}
	var entries []entry
	var needs []service.Need
	more := false
	if err := c.Read(c.ctx, func(v queue.View) (wrong error) {
		left := skip
		err := scan(c.in(v), func(e lookup.Entity) bool {
			if left > 0 {
				left--
				return true
			}
			if more = len(entries) == top; more {
				return false
			}
			var one entry
			if one, wrong = read(v, &e); wrong != nil {
				return false
			}
			entries, needs = append(entries, one), append(needs, reads.on(e.Name))
			return true
		})
		if err != nil {
			return err
		}
		return wrong
	}); err != nil {
		return err
	}
	if err := c.PermitAll(c.ctx, needs); err != nil {
		return err
	}
	return c.writePage(title, entries, skip, top, more)
}

// writePage answers with a page of a list. more reports whether there is another one.
func (c *call) writePage(title string, entries []entry, skip, top int, more bool) error {
	f := c.newFeed(title, c.path, entries)
	if more { // the link to the next page is the second one, as SDKs expect
		next := url.Values{versionParameter: c.query[versionParameter], "$skip": {strconv.Itoa(skip + top)}, "$top": {strconv.Itoa(top)}}
		f.Links = append(f.Links, link{"next", c.href(c.path, next.Encode())})
	}
	return c.write(http.StatusOK, f)
}

// writeNothing answers a request for an entity that does not exist.
func (c *call) writeNothing() error {
	return c.write(http.StatusOK, c.newFeed("Publicly Listed Services", c.path, nil))
}

// listQueues lists the queues of the account that are entities.
func (c *call) listQueues() error {
	if err := c.begin(listQueues, ""); err != nil {
		return err
	}
	return c.list("Queues", getQueueAttributes, func(in lookup.In, visit func(lookup.Entity) bool) error {
		in.Queues(visit)
		return nil
	}, func(v queue.View, e *lookup.Entity) (entry, error) {
		s, refused := readQueue(v, e.Name)
		if refused != nil {
			return entry{}, refused
		}
		return c.entryOf(&s), nil
	})
}

// listTopics lists the topics of the account that are entities.
func (c *call) listTopics() error {
	if err := c.begin(listTopics, ""); err != nil {
		return err
	}
	return c.list("Topics", getTopicAttributes, func(in lookup.In, visit func(lookup.Entity) bool) error {
		in.Topics(visit)
		return nil
	}, func(v queue.View, e *lookup.Entity) (entry, error) {
		s, refused := c.readTopic(v, e)
		if refused != nil {
			return entry{}, refused
		}
		return c.entryOfTopic(&s), nil
	})
}
