package console

import (
	"net/url"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/transport/ops/document"
)

// auditPage shows the changes of all nodes, and their logs.
type auditPage struct {
	Find, Since, Level string
	Tab                string
	Rows               []record
	Missing            []string
	Kept               bool
	Problem            string
	Levels             []document.LogLevel // of the nodes; empty: they cannot be changed
}

const logLevelPath = "/v1/logs/level"

// setLogLevel changes the log level of one node, or of all.
func (p *page) setLogLevel() {
	in := document.SetLogLevel{Node: p.r.PostFormValue("node"), Level: p.r.PostFormValue("level")}
	words := []string{"log", "level", in.Level}
	if in.Node != "" {
		words = append(words, "--node", in.Node)
	}
	p.done(p.post(logLevelPath, in, nil), "/audit?tab=log", "The log level is "+in.Level+" until the node restarts.", command(words...))
}

// record is a line of a log or of the audit.
type record struct {
	Time, Node, Level, Who, Text string
	Fields                       []setting
}

func (p *page) audit() {
	q := p.r.URL.Query()
	data := auditPage{Find: strings.TrimSpace(q.Get("find")), Since: q.Get("since"), Level: q.Get("level"), Tab: q.Get("tab")}
	if data.Tab != "log" {
		data.Tab = "audit"
	}
	data.Kept = p.console.Admin.Has("/v1/audit")
	if data.Kept {
		p.readAudit(&data)
	}
	p.render("audit", "Audit", data)
}

func (p *page) readLevels(data *auditPage) {
	if !p.console.Admin.Has(logLevelPath) {
		return
	}
	var levels document.LogLevels
	if err := p.get(logLevelPath, &levels); err != nil {
		p.console.Logger.Debug("the console could not read the log levels", "error", err)
	}
	data.Levels = levels.Nodes
}

// recordsShown is the number of records of a page.
const recordsShown = "200"

func (p *page) readAudit(data *auditPage) {
	target, ask := "/v1/audit", url.Values{"limit": {recordsShown}}
	set := func(name, value string) {
		if value != "" {
			ask.Set(name, value)
		}
	}
	if data.Tab == "log" {
		target = "/v1/logs"
		set("level", data.Level)
		p.readLevels(data)
	}
	set("since", data.Since)
	set("find", data.Find)
	var answer document.Records
	if err := p.get(target+"?"+ask.Encode(), &answer); err != nil {
		data.Problem = textOf(err)
		return
	}
	data.Missing = answer.Missing
	for _, r := range slices.Backward(answer.Records) {
		out := record{Time: clock(r.TimeMs), Node: r.Node, Level: strings.ToLower(r.Level), Text: r.Message}
		for _, a := range r.Attributes {
			switch {
			case a.Value == "" || a.Name == "stream":
			case a.Name == "action" || a.Name == "what":
				out.Text = a.Value
			case a.Name == "who" || a.Name == "account":
				out.Who = a.Value
			default:
				out.Fields = append(out.Fields, setting{Name: a.Name, Value: a.Value})
			}
		}
		data.Rows = append(data.Rows, out)
	}
}
