package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/reference"
)

var longID = string(slices.Repeat([]byte{'x'}, 129))

func (g *generator) send(k kind) action {
	c := send{name: k.name, sender: pickOf(g, "123456789012", "anonymous"), batch: g.oneIn(3)}
	c.atomic = c.batch && k.fifo && g.oneIn(3)
	for range g.size(c.batch) {
		c.entries = append(c.entries, g.entry(k))
	}
	if c.batch && g.oneIn(400) {
		total := 800_000 + g.rng.IntN(600_000) // a batch may have at most 1 MiB
		for i := range c.entries {
			c.entries[i].Body = strings.Repeat("m", total/len(c.entries))
		}
	}
	if g.oneIn(150) {
		c.name = "nosuch"
	}
	if g.oneIn(20) {
		c.since = max(1, g.w.model.Now()-pickOf(g, int64(-5), 0, 1, 700, 30_000, 300_000))
	}
	return c
}

func (g *generator) entry(k kind) reference.SendEntry {
	e := reference.SendEntry{Body: "body " + strconv.Itoa(g.rng.IntN(6))}
	if k.small && g.oneIn(2) {
		e.Body = strings.Repeat("s", 150_000+g.rng.IntN(200_000))
	}
	if g.oneIn(10) {
		e.Trace = "Root=1-" + strconv.Itoa(g.rng.IntN(3))
	}
	if g.oneIn(6) {
		e.Attributes = append(e.Attributes, reference.Attribute{Name: "n", Type: "Number", Value: strconv.Itoa(g.rng.IntN(9))})
	}
	if g.oneIn(9) {
		e.Attributes = append(e.Attributes, reference.Attribute{Name: "b", Type: "Binary", Value: "\x00\x01"})
	}
	if k.fifo {
		g.fifoEntry(k, &e)
		if !g.plain {
			g.option(&e)
		}
	} else {
		if g.oneIn(4) {
			e.Group = new(pickOf(g, "a", "b"))
		}
		if g.oneIn(4) {
			e.Delay = new(pickOf(g, int64(0), 1, 2, 10, 900))
		}
	}
	if k.reserved && g.oneIn(3) {
		at := g.w.model.Now() + pickOf(g, int64(-1000), 0, 1, 500, 1000, 5000, 30_000)
		e.Attributes = append(e.Attributes, g.scheduled(at))
	}
	if !g.plain && g.oneIn(4) {
		g.encode(k, &e)
	}
	if g.oneIn(40) {
		g.spoil(k, &e)
		if g.oneIn(4) {
			g.spoil(k, &e)
		}
	}
	return e
}

func (g *generator) scheduled(at int64) reference.Attribute {
	if g.oneIn(3) {
		zone := time.FixedZone("", pickOf(g, 0, 3600, -34_200))
		return reference.Attribute{Name: scheduledName, Type: "String",
			Value: time.UnixMilli(at).In(zone).Format("2006-01-02T15:04:05.000Z07:00")}
	}
	return reference.Attribute{Name: scheduledName, Type: "Number", Value: strconv.FormatInt(at, 10)}
}

func (g *generator) fifoEntry(k kind, e *reference.SendEntry) {
	if !k.groupOptional || g.oneIn(2) {
		e.Group = new(pickOf(g, "a", "b", "c"))
	}
	switch {
	case k.content && g.oneIn(2):
	case k.deduplicationOff && g.oneIn(2):
	case g.oneIn(3):
		g.unique++
		e.Dedup = new("u" + strconv.Itoa(g.unique))
	case k.content && g.oneIn(6):
		e.Dedup = new(reference.ContentID("body " + strconv.Itoa(g.rng.IntN(6))))
	default:
		e.Dedup = new(pickOf(g, "x", "y", "z", "X"))
	}
	if g.oneIn(10) {
		e.Delay = new(int64(0))
	}
	if k.partition && g.oneIn(2) {
		key := pickOf(g, "p", "q")
		if e.Group != nil {
			key = *e.Group
		}
		e.Attributes = append(e.Attributes, reference.Attribute{Name: partitionName, Type: "String", Value: key})
	}
}

// spoil makes exactly one part of an entry invalid.
func (g *generator) spoil(k kind, e *reference.SendEntry) {
	switch g.rng.IntN(9) {
	case 0:
		e.Body = ""
	case 1:
		e.Body = pickOf(g, "a\x01b", "bad \xff utf-8", "no\uffff")
	case 2:
		e.Body = fmt.Sprintf("%01100d", 7) // longer than the smallest MaximumMessageSize
	case 3:
		e.Group = new(pickOf(g, "", "g g", longID, "g\u00fc"))
		e.Attributes = nil
	case 4:
		if k.fifo {
			e.Dedup = new(pickOf(g, "", "d d", longID))
		} else {
			e.Dedup = new("x")
		}
	case 5:
		e.Delay = new(pickOf(g, int64(-1), 901))
	case 6:
		if k.fifo {
			e.Delay = new(int64(2))
		}
	case 7:
		if k.fifo {
			e.Group = nil
		} else {
			e.Attributes = []reference.Attribute{{Name: "s", Type: "String", Value: ""}}
		}
	case 8:
		e.Dedup = nil
	}
}
