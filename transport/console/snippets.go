package console

import (
	"embed"
	"encoding/json"
	"strings"
	"text/template"
)

//go:embed snippets/*.tmpl
var snippetFiles embed.FS

var snippetTemplates = template.Must(template.New("snippets").Funcs(template.FuncMap{
	"quoted": quoted, "shell": shell,
}).ParseFS(snippetFiles, "snippets/*.tmpl"))

// snippetTitles are the languages, in the order of the page.
var snippetTitles = []struct{ id, title string }{
	{"python", "Python"}, {"javascript", "JavaScript"}, {"java", "Java"}, {"go", "Go"}, {"aws", "AWS CLI"}, {"seriatim", "seriatim"},
}

// snippet is a program that uses a queue.
type snippet struct{ ID, Title, Text string }

// quoted writes a text as a string of most languages.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(out)
}

// snippets returns programs with the real URL of the queue.
func (p *page) snippets(h queueHead) (list []snippet) {
	key := "dev"
	if p.console.Enforced {
		key = "YOUR-KEY"
	}
	about := struct {
		Endpoint, Region, URL, Name, Key string
		FIFO                             bool
	}{p.console.ClientURL, p.console.Names.Region, p.console.Names.QueueURL(p.console.ClientURL, h.Name), h.Name, key, h.FIFO()}
	for _, s := range snippetTitles {
		var text strings.Builder
		if err := snippetTemplates.ExecuteTemplate(&text, s.id+".tmpl", about); err != nil {
			p.console.Logger.Error("a snippet could not be rendered", "snippet", s.id, "error", err)
			continue
		}
		list = append(list, snippet{s.id, s.title, text.String()})
	}
	return list
}
