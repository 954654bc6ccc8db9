package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/transport/ops/document"
)

// accessPage shows accounts, keys and policies.
type accessPage struct {
	Accounts []document.Account
	Keys     []document.AccessKey
	Policies []document.UserPolicy
	New      *document.AccessKey // just created: the only page with its secret
	Enforced bool
	Own      string // account of the cluster
	Client   string
}

func (p *page) access() { p.showAccess(nil) }

func (p *page) showAccess(created *document.AccessKey) {
	data := accessPage{New: created, Enforced: p.console.Enforced, Own: p.console.Names.Account, Client: p.console.ClientURL}
	var accounts document.Accounts
	var keys document.AccessKeys
	var policies document.UserPolicies
	for target, answer := range map[string]any{"/v1/accounts": &accounts, "/v1/access/keys": &keys, "/v1/access/policies": &policies} {
		if err := p.get(target, answer); err != nil {
			p.fail(err)
			return
		}
	}
	data.Accounts, data.Keys, data.Policies = accounts.Accounts, keys.Keys, policies.Policies
	for i := range data.Policies {
		if text, ok := pretty(data.Policies[i].Policy); ok {
			data.Policies[i].Policy = text
		}
	}
	p.render("access", "Access", data)
}

// createKey creates a key and shows its secret, once: the answer is a page, not a redirect.
func (p *page) createKey() {
	change := document.NewAccessKey{
		Account: strings.TrimSpace(p.r.PostFormValue("account")), User: strings.TrimSpace(p.r.PostFormValue("user")),
	}
	var created document.AccessKey
	if err := p.post("/v1/access/keys", change, &created); err != nil {
		p.done(err, "/access", "", "")
		return
	}
	p.showAccess(&created)
}

func (p *page) changeKey() {
	id, change := p.r.PathValue("id"), p.r.PathValue("change")
	texts := map[string]string{"enable": "The key works again.", "disable": "The key is disabled.", "delete": "The key is deleted."}
	words := map[string]string{"enable": "enable", "disable": "disable", "delete": "revoke"}
	if texts[change] == "" {
		p.problem(http.StatusNotFound, "There is no such change.")
		return
	}
	if change == "delete" && !p.confirmed(id, "/access") {
		return
	}
	err := p.post("/v1/access/keys/"+url.PathEscape(id)+"/"+change, nil, nil)
	p.done(err, "/access", texts[change], command("key", words[change], id))
}

func (p *page) putPolicy() {
	change := document.UserPolicy{
		Account: cmp.Or(strings.TrimSpace(p.r.PostFormValue("account")), p.console.Names.Account),
		User:    strings.TrimSpace(p.r.PostFormValue("user")), Policy: strings.TrimSpace(p.r.PostFormValue("policy")),
	}
	text, cli := "The policy of "+change.User+" is in force.", command("policy", "put", change.User, "--file", "policy.json")
	if p.r.PostFormValue("remove") != "" {
		if !p.confirmed(change.User, "/access") {
			return
		}
		change.Policy, text, cli = "", "The policy of "+change.User+" is deleted.", command("policy", "delete", change.User)
	} else if change.Policy == "" {
		p.session.say(flash{Kind: "failed", Text: "Nothing was changed: write a policy, or delete the existing one."})
		p.redirect("/access")
		return
	}
	p.done(p.post("/v1/access/policies", change, nil), "/access", text, cli)
}

// quota reads the limits of a form; an empty field is no limit.
func (p *page) quota() (q document.Quota, words []string, problem string) {
	for name, limit := range map[string]*int64{
		"queues": &q.Queues, "topics": &q.Topics, "messages": &q.Messages, "bytes": &q.Bytes, "requests": &q.RequestsPerSecond,
	} {
		text := strings.TrimSpace(p.r.PostFormValue(name))
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return q, nil, "The limit of " + name + " must be a number, 0 for none."
		}
		*limit = n
		words = append(words, "--"+name, text)
	}
	return q, words, ""
}

func (p *page) createAccount() {
	id := strings.TrimSpace(p.r.PostFormValue("account"))
	quota, words, problem := p.quota()
	if problem != "" {
		p.session.say(flash{Kind: "failed", Text: problem})
		p.redirect("/access")
		return
	}
	err := p.post("/v1/accounts", document.NewAccount{Account: id, Quota: quota}, nil)
	p.done(err, "/access", "Account "+id+" created.", command(append([]string{"account", "create", id}, words...)...))
}

func (p *page) changeAccount() {
	id, change := p.r.PathValue("id"), p.r.PathValue("change")
	target := "/v1/accounts/" + url.PathEscape(id)
	switch change {
	case "quota":
		quota, words, problem := p.quota()
		if problem != "" {
			p.session.say(flash{Kind: "failed", Text: problem})
			p.redirect("/access")
			return
		}
		p.done(p.post(target+"/quota", quota, nil), "/access", "The quota of "+id+" has changed.",
			command(append([]string{"account", "quota", id}, words...)...))
	case "delete":
		if p.confirmed(id, "/access") {
			p.done(p.post(target+"/delete", nil, nil), "/access", "Account "+id+" deleted.", command("account", "delete", id))
		}
	default:
		p.problem(http.StatusNotFound, "There is no such change.")
	}
}

// simulatorPage asks whether a caller may do something.
type simulatorPage struct {
	User, Account, Key, Action, Resource string
	Asked                                bool
	Answer                               document.Simulation
	Problem                              string
	CLI                                  string
}

func (p *page) simulator() {
	q := p.r.URL.Query()
	data := simulatorPage{User: q.Get("user"), Account: q.Get("account"), Key: q.Get("key"), Action: q.Get("action"),
		Resource: q.Get("resource")}
	p.crumbs, p.still = []crumb{{"Access", "/access"}}, true
	if data.Asked = data.Action != ""; data.Asked {
		ask, words := url.Values{"action": {data.Action}, "resource": {data.Resource}}, []string{"policy", "simulate"}
		for name, value := range map[string]string{"user": data.User, "account": data.Account, "key": data.Key} {
			if value != "" {
				ask.Set(name, value)
			}
		}
		if data.Key != "" {
			words = append(words, "--key", data.Key)
		} else {
			words = append(words, "--user", data.User)
		}
		data.CLI = command(append(words, "--action", data.Action, "--resource", data.Resource)...)
		if err := p.get("/v1/access/simulate?"+ask.Encode(), &data.Answer); err != nil {
			data.Problem = textOf(err)
		}
	}
	p.render("simulator", "Policy simulator", data)
}
