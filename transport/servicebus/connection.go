package servicebus

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/connections"
)

const (
	// claimsMax bounds the tokens of a connection. A client has one or two for each entity.
	claimsMax = 1000
	// expiredAfter is the time that a token is used beyond its end, so that clients can renew it.
	expiredAfter = 10 * time.Second
)

// connection is the state of one connection. Safe for concurrent use.
type connection struct {
	server    *Server
	conn      *amqp.Conn
	ctx       context.Context // ends with the connection
	opened    *connections.Connection
	remote    string
	userAgent string
	encrypted bool

	mu         sync.Mutex
	ended      bool
	claims     []claim // the newest last
	expiry     *time.Timer
	attaching  map[*amqp.Request]context.CancelFunc
	links      map[*link]struct{}
	responders map[*responder]struct{}
	sessions   map[sessionKey]*heldSession // locked by links of the connection

	transactions map[string]*transaction // by id
	uncertain    []string                // ids of transactions with an unknown outcome, the newest last
}

// claim is a token that the client has put.
type claim struct {
	token  sas.Token
	caller auth.Identity
}

// sessionKey identifies a session.
type sessionKey struct{ queue, session string }

func (s *Server) newConnection(c *amqp.Conn, open *wire.Open) *connection {
	of := &connection{
		server: s, conn: c, ctx: c.Context(), remote: c.NetConn().RemoteAddr().String(), userAgent: userAgentOf(open.Properties),
		opened:    connections.From(connections.With(c.Context(), c.NetConn())),
		attaching: make(map[*amqp.Request]context.CancelFunc), links: make(map[*link]struct{}),
		responders: make(map[*responder]struct{}), sessions: make(map[sessionKey]*heldSession),
	}
	_, of.encrypted = connections.As[interface{ HandshakeContext(context.Context) error }](c.NetConn())
	return of
}

// userAgentOf returns the name that a client gives itself.
func userAgentOf(properties wire.Value) string {
	for _, name := range []string{"user-agent", "product"} {
		if text := textOf(properties.Lookup(name)); text != "" {
			return strings.Clone(text)
		}
	}
	return ""
}

// textOf reads a string or a symbol, empty for any other value.
func textOf(v wire.Value) string {
	if text, ok := v.Text(); ok {
		return text
	}
	text, _ := v.Symbol()
	return text
}

// Get implements service.Header.
func (c *connection) Get(name string) string {
	if name == "User-Agent" {
		return c.userAgent
	}
	return ""
}

// beginAttach returns the context of an attach, which ends when the client gives up.
func (c *connection) beginAttach(r *amqp.Request) context.Context {
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attaching[r] = cancel
	return ctx
}

func (c *connection) endAttach(r *amqp.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.attaching[r]; cancel != nil {
		cancel()
		delete(c.attaching, r)
	}
}

// end forgets the tokens. The engine has ended the links.
func (c *connection) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.claims = nil
	if c.expiry != nil {
		c.expiry.Stop()
	}
}

// claim adds a token of a caller, which replaces the one for the same audience.
func (c *connection) claim(caller auth.Identity, token sas.Token) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.claims[:0]
	now := c.server.Now()
	for _, known := range c.claims {
		if known.token.Audience != token.Audience && !expired(&known.token, now) {
			kept = append(kept, known)
		}
	}
	if len(kept) == claimsMax || c.ended {
		c.claims = kept
		return false
	}
	c.claims = append(kept, claim{token, caller})
	c.watchExpiry(now)
	return true
}

func expired(t *sas.Token, now time.Time) bool {
	return !t.Expires.IsZero() && now.After(t.Expires.Add(expiredAfter))
}

// callerFor returns the caller with the newest token that covers a path. Where no key is needed, a
// caller without a token is known, too.
func (c *connection) callerFor(path string) (caller auth.Identity, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callerForLocked(path, c.server.Now())
}

func (c *connection) callerForLocked(path string, now time.Time) (caller auth.Identity, known bool) {
	for i := len(c.claims) - 1; i >= 0; i-- {
		if t := &c.claims[i].token; t.Covers(path) && !expired(t, now) {
			return c.claims[i].caller, true
		}
	}
	return auth.Identity{}, c.server.Authorizer == nil
}

// watchExpiry arms the timer for the token that ends first. It needs the mutex.
func (c *connection) watchExpiry(now time.Time) {
	var first time.Time
	for i := range c.claims {
		if at := c.claims[i].token.Expires; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if c.expiry != nil {
		c.expiry.Stop()
		c.expiry = nil
	}
	if !first.IsZero() && !c.ended {
		c.expiry = time.AfterFunc(first.Add(expiredAfter).Sub(now)+time.Millisecond, c.endExpired)
	}
}

// endExpired detaches the links that no token covers any more.
func (c *connection) endExpired() {
	now := c.server.Now()
	c.mu.Lock()
	var over []*link
	for l := range c.links {
		if _, known := c.callerForLocked(l.path, now); !known {
			over = append(over, l)
		}
	}
	kept := c.claims[:0]
	for _, known := range c.claims {
		if !expired(&known.token, now) {
			kept = append(kept, known)
		}
	}
	c.claims = kept
	c.watchExpiry(now)
	c.mu.Unlock()
	for _, l := range over {
		l.detach(failure(unauthorizedAccess, "The token of the link has expired."))
	}
}

// add adds a link, unless it has ended already.
func (c *connection) add(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !l.closed {
		c.links[l] = struct{}{}
	}
}

func (c *connection) remove(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.closed = true
	delete(c.links, l)
}

// session returns the session that a link of the connection holds, nil if none does.
func (c *connection) session(k sessionKey) *heldSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[k]
}

// sessionOf returns the session that a link of the connection holds, nil if it holds none.
func (c *connection) sessionOf(queue, link string) *heldSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, held := range c.sessions {
		if k.queue == queue && held.link == link && link != "" {
			return held
		}
	}
	return nil
}
