package console

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/ops"
)

const (
	sessionsMax  = 1000
	sessionIdle  = 2 * time.Hour
	sessionAge   = 12 * time.Hour
	sessionBytes = 32 // random bytes of an id
)

// flash is a message for the next page.
type flash struct {
	Kind string // done or failed
	Text string
	CLI  string // the command that does the same; may be empty
}

// credentials are those of the login that began a session.
type credentials struct {
	token string        // admin token, to notice its revocation; empty: none
	key   auth.Identity // of a login with an access key
	login bool
}

// session is the memory of one browser.
type session struct {
	credentials credentials
	id          string
	csrf        string

	began, used time.Time // guarded by sessions.mu

	mu      sync.Mutex
	flashes []flash
}

// sessions holds the sessions of this node in memory. Safe for concurrent use.
type sessions struct {
	now    func() time.Time
	random io.Reader
	mu     sync.Mutex
	byID   map[[sha256.Size]byte]*session
}

func newSessions(now func() time.Time, random io.Reader) *sessions {
	return &sessions{now: now, random: random, byID: map[[sha256.Size]byte]*session{}}
}

// cookieName includes the port, because cookies of all ports of a host are shared.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "0"
	}
	if r.TLS != nil {
		return "__Host-seriatim-" + port
	}
	return "seriatim-" + port
}

// find returns the session of a request, nil if it has none.
func (s *sessions) find(r *http.Request) *session {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(cookie.Value)) // looking up the digest takes no time that depends on the id
	found := s.byID[key]
	if found == nil {
		return nil
	}
	if now := s.now(); now.Sub(found.used) > sessionIdle || now.Sub(found.began) > sessionAge {
		delete(s.byID, key)
		return nil
	}
	if r.Header.Get("HX-Request") == "" { // a page that refreshes by itself must not keep a session alive
		found.used = s.now()
	}
	return found
}

// begin starts a session and sets its cookie.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request, as credentials) (*session, error) {
	var drawn [2 * sessionBytes]byte
	if _, err := io.ReadFull(s.random, drawn[:]); err != nil {
		return nil, err
	}
	started := &session{
		id: base64.RawURLEncoding.EncodeToString(drawn[:sessionBytes]), csrf: base64.RawURLEncoding.EncodeToString(drawn[sessionBytes:]),
		credentials: as,
	}
	s.mu.Lock()
	started.began = s.now()
	started.used = started.began
	for len(s.byID) >= sessionsMax {
		s.evict()
	}
	s.byID[sha256.Sum256([]byte(started.id))] = started
	s.mu.Unlock()
	http.SetCookie(w, started.cookie(r, int(sessionAge.Seconds())))
	return started, nil
}

func (s *session) cookie(r *http.Request, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r), Value: s.id, Path: "/", MaxAge: age, HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode,
	}
}

// evict removes the session that was unused for the longest time, one without a login if possible.
func (s *sessions) evict() {
	var oldest [sha256.Size]byte
	var found *session
	for id, one := range s.byID { // order does not matter: the oldest one is found
		if found == nil || cmp.Or(rank(one)-rank(found), one.used.Compare(found.used)) < 0 {
			oldest, found = id, one
		}
	}
	delete(s.byID, oldest)
}

func rank(s *session) int {
	if s.credentials.login {
		return 1
	}
	return 0
}

// end ends a session and removes its cookie.
func (s *sessions) end(w http.ResponseWriter, r *http.Request, ended *session) {
	s.mu.Lock()
	delete(s.byID, sha256.Sum256([]byte(ended.id)))
	s.mu.Unlock()
	http.SetCookie(w, ended.cookie(r, -1))
}

// owns reports whether a form or a header has the token of the session.
func (s *session) owns(r *http.Request) bool {
	given := cmp.Or(r.PostFormValue("csrf"), r.Header.Get("X-CSRF-Token"))
	return s != nil && subtle.ConstantTimeCompare([]byte(given), []byte(s.csrf)) == 1
}

// say keeps a message for the next page.
func (s *session) say(f flash) {
	const most = 8
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.flashes) < most {
		s.flashes = append(s.flashes, f)
	}
}

// said returns the messages and forgets them.
func (s *session) said() []flash {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.flashes
	s.flashes = nil
	return list
}

// identify finds the operator of a request, and whether the request may see pages.
func (p *page) identify() (known bool) {
	c := p.console
	switch {
	case c.Tokens.Find == nil:
		p.who = ops.Operator{Name: "anybody", Role: ops.Administrator}
	case p.session == nil || !p.session.credentials.login:
		return false
	case p.session.credentials.token != "":
		who, valid := c.Tokens.Find(p.session.credentials.token)
		if !valid {
			c.sessions.end(p.w, p.r, p.session)
			p.session = nil
			return false
		}
		p.who = who
	default:
		key, exists := c.Node.Access().Key(p.session.credentials.key.AccessKeyID)
		if !exists || key.Inactive {
			c.sessions.end(p.w, p.r, p.session)
			p.session = nil
			return false
		}
		p.who = ops.Operator{Name: "key " + key.ID, Role: ops.NoRole}
	}
	if p.session == nil {
		started, err := c.sessions.begin(p.w, p.r, credentials{})
		if err != nil {
			c.Logger.Error("drawing the id of a session failed", "error", err)
			return false
		}
		p.session = started
	}
	return true
}
