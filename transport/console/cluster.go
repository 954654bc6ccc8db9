package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/ops"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// clusterPage shows members, checks, certificates, backup and upgrade.
type clusterPage struct {
	Members  cluster.MemberList
	Local    bool
	Status   cluster.Status
	Upgrade  cluster.Upgrade
	Ends     []certificateEnd
	Backup   string
	Findings []finding
	Admin    string
	Charts   bool
	Settings []document.Setting // that differ
}

// certificateEnd is the end of a certificate of this node.
type certificateEnd struct {
	Port string
	At   time.Time
	Days int
}

// finding is the result of a check.
type finding struct{ Level, Check, Text string }

func (p *page) cluster() {
	data := clusterPage{Status: p.console.Node.Status(), Admin: p.r.Host, Charts: p.console.Admin.Has(historyPath)}
	data.Members, data.Local = p.members()
	if err := p.get("/v1/upgrade", &data.Upgrade); err != nil {
		p.console.Logger.Debug("the console could not read the state of the upgrade", "error", err)
	}
	for port, at := range p.console.Admin.Ends() {
		data.Ends = append(data.Ends, certificateEnd{Port: port, At: at, Days: int(at.Sub(p.console.Now()).Hours() / 24)})
	}
	slices.SortFunc(data.Ends, func(a, b certificateEnd) int { return a.At.Compare(b.At) })
	findings := data.Members.Findings
	if len(findings) == 0 {
		findings = data.Status.Findings
	}
	for _, f := range findings {
		data.Findings = append(data.Findings, finding{Level: strings.ToLower(f.Level.String()), Check: f.Check, Text: f.Sentence()})
	}
	rank := map[string]int{"critical": 0, "unknown": 1, "warning": 2, "ok": 3}
	slices.SortStableFunc(data.Findings, func(a, b finding) int { return rank[a.Level] - rank[b.Level] })
	data.Settings = p.differentSettings()
	p.render("cluster", "Cluster", data)
}

// differentSettings returns the settings that differ between nodes, none if the caller may not see them.
func (p *page) differentSettings() []document.Setting {
	const path = "/v1/settings"
	if p.who.Role < ops.Operate || !p.console.Admin.Has(path) {
		return nil
	}
	var found document.Settings
	if err := p.get(path, &found); err != nil {
		p.console.Logger.Debug("the console could not compare the settings", "error", err)
	}
	return slices.DeleteFunc(found.Settings, func(s document.Setting) bool { return !s.Differs })
}

// clusterChanges are the changes of a form: path of the admin port, words of the tool, and result.
var clusterChanges = map[string]struct {
	path, text string
	words      []string
	confirm    bool
}{
	"drain": {"/v1/cluster/drain", "The node is drained: clients continue on other nodes, and you can stop it.",
		[]string{"cluster", "drain"}, false},
	"uncordon":        {"/v1/cluster/uncordon", "The node serves clients again.", []string{"cluster", "uncordon"}, false},
	"transfer-leader": {"/v1/cluster/transfer-leader", "Leadership has moved.", []string{"cluster", "transfer-leader"}, false},
	"add":             {"/v1/cluster/add", "The node is a member.", []string{"cluster", "add"}, false},
	"promote":         {"/v1/cluster/promote", "The node votes now.", []string{"cluster", "promote"}, false},
	"remove":          {"/v1/cluster/remove", "The node is no longer a member.", []string{"cluster", "remove"}, true},
	"finalize":        {"/v1/upgrade/finalize", "The upgrade is final.", []string{"upgrade", "finalize"}, true},
}

// changeCluster makes a change of the members. The admin port checks the role for it.
func (p *page) changeCluster() {
	change, known := clusterChanges[p.r.PathValue("change")]
	if !known {
		p.problem(http.StatusNotFound, "There is no such change.")
		return
	}
	name := strings.TrimSpace(p.r.PostFormValue("node"))
	words := change.words
	var body any
	if p.r.PathValue("change") != "finalize" {
		body = cluster.Change{Node: name}
		if name != "" {
			words = append(slices.Clone(words), name)
		}
	} else {
		name = "finalize"
	}
	if change.confirm && !p.confirmed(name, "/cluster") {
		return
	}
	p.done(p.post(change.path, body, nil), "/cluster", change.text, command(words...))
}
