package console

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/transport/auth"
)

// loginPage is the content of the login form.
type loginPage struct {
	Next     string
	Enforced bool
	File     string // with the token of this node
}

// toLogin sends the browser to the login form. A refreshing page gets the status instead.
func (p *page) toLogin() {
	if p.r.Header.Get("HX-Request") != "" || p.r.Method != http.MethodGet {
		p.w.Header().Set("HX-Redirect", "/login")
		p.problem(http.StatusUnauthorized, "Your session has ended. Log in again.")
		return
	}
	http.Redirect(p.w, p.r, "/login?next="+url.QueryEscape(p.r.URL.RequestURI()), http.StatusSeeOther)
}

// localPath returns a path of this console, / for anything else.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") ||
		strings.ContainsAny(text, "\\\r\n") {
		return "/"
	}
	return text
}

func (p *page) showLogin() {
	if p.console.Tokens.Find == nil || p.session != nil && p.session.credentials.login {
		http.Redirect(p.w, p.r, localPath(p.r.FormValue("next")), http.StatusSeeOther)
		return
	}
	if p.session == nil {
		started, err := p.console.sessions.begin(p.w, p.r, credentials{})
		if err != nil {
			p.problem(http.StatusInternalServerError, "The source of random numbers failed.")
			return
		}
		p.session = started
	}
	p.render("login", "Log in", loginPage{
		Next: localPath(p.r.FormValue("next")), Enforced: p.console.Enforced, File: p.console.Tokens.OwnFile,
	})
}

// logIn checks a token, or the id and secret of an access key.
func (p *page) logIn() {
	next := localPath(p.r.PostFormValue("next"))
	if p.console.Tokens.Find == nil {
		http.Redirect(p.w, p.r, next, http.StatusSeeOther)
		return
	}
	as, name, ok := p.check()
	if !ok {
		if p.console.attempts.log(p.console.Now()) {
			p.console.Audit.Warn("refused a login to the console", "remote", p.r.RemoteAddr)
		}
		p.session.say(flash{Kind: "failed", Text: "The login was refused. Check the token, or the id and secret of the access key."})
		http.Redirect(p.w, p.r, "/login?next="+url.QueryEscape(next), http.StatusSeeOther)
		return
	}
	p.console.sessions.end(p.w, p.r, p.session)
	p.w.Header().Del("Set-Cookie")
	if _, err := p.console.sessions.begin(p.w, p.r, as); err != nil {
		p.problem(http.StatusInternalServerError, "The source of random numbers failed.")
		return
	}
	p.console.Audit.Info("console login", "who", name, "remote", p.r.RemoteAddr)
	http.Redirect(p.w, p.r, next, http.StatusSeeOther)
}

// check returns the credentials in a form.
func (p *page) check() (as credentials, name string, ok bool) {
	c := p.console
	if token := strings.TrimSpace(p.r.PostFormValue("token")); token != "" {
		who, known := c.Tokens.Find(token)
		return credentials{token: token, login: true}, who.Name, known
	}
	id, secret := strings.TrimSpace(p.r.PostFormValue("key")), strings.TrimSpace(p.r.PostFormValue("secret"))
	key, known := c.Node.Access().Key(id)
	if !c.Enforced || !known || key.Inactive || secret == "" {
		return as, "", false
	}
	right, err := c.Node.Secret(key)
	if err != nil || subtle.ConstantTimeCompare([]byte(right), []byte(secret)) != 1 {
		return as, "", false
	}
	return credentials{login: true, key: auth.Identity{AccessKeyID: id, Account: key.User.Account, User: key.User.Name}}, "key " + id, true
}

func (p *page) logOut() {
	p.console.Audit.Info("console logout", "who", p.who.Name, "remote", p.r.RemoteAddr)
	p.console.sessions.end(p.w, p.r, p.session)
	http.Redirect(p.w, p.r, "/login", http.StatusSeeOther)
}

// attempts bounds the log lines about refused logins.
type attempts struct {
	mu   sync.Mutex
	last time.Time
}

// log reports whether to log a refusal.
func (a *attempts) log(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.last.IsZero() && now.Sub(a.last) < time.Second {
		return false
	}
	a.last = now
	return true
}
