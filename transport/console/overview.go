package console

import (
	"net/http"

	"github.com/seriatimq/seriatim/cluster"
)

// overviewPage shows the cluster and the queues that need attention.
type overviewPage struct {
	Table   queueTable
	Members cluster.MemberList
	Local   bool // the members as this node sees them, without a leader
	Oldest  []queueRow
	Blocked []queueRow
	Dead    []queueRow
	Client  string
	Charts  bool
}

// shownMax bounds the short lists.
const shownMax = 8

func (p *page) overview() {
	if p.session.credentials.key.AccessKeyID != "" {
		http.Redirect(p.w, p.r, "/queues", http.StatusSeeOther)
		return
	}
	t := p.console.table(p.r.Context())
	data := overviewPage{Table: t, Client: p.console.ClientURL, Charts: p.console.Admin.Has(historyPath)}
	data.Members, data.Local = p.members()
	first := func(f queueFilter) []queueRow {
		found := f.choose(t.Rows, true, "")
		return found[:min(len(found), shownMax)]
	}
	data.Oldest = first(queueFilter{Only: "messages", Sort: "oldest", Desc: true})
	data.Blocked = first(queueFilter{Only: "blocked", Sort: "blocked", Desc: true})
	data.Dead = first(queueFilter{Only: "deadletters", Sort: "dlq", Desc: true})
	p.render("overview", "Overview", data)
}

// members returns the members as the leader sees them, or as this node does.
func (p *page) members() (list cluster.MemberList, local bool) {
	if p.get("/v1/cluster/members", &list) == nil {
		return list, false
	}
	if err := p.get("/v1/cluster/members?local=true", &list); err != nil {
		p.console.Logger.Debug("the console could not list the members", "error", err)
	}
	return list, true
}
