package server

import (
	"io"
	"reflect"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// printConfig writes cfg as a file for --config, with the description above each key. It omits
// hidden settings with their defaults.
func printConfig(out io.Writer, cfg Config) error {
	document := &yaml.Node{Kind: yaml.MappingNode}
	for _, s := range settings() {
		if s.hidden && s.text(cfg) == s.def {
			continue
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: s.name, HeadComment: s.help}
		document.Content = append(document.Content, key, valueNode(s, s.text(cfg)))
	}
	enc := yaml.NewEncoder(out)
	if err := enc.Encode(document); err != nil {
		return err
	}
	return enc.Close()
}

func valueNode(s setting, text string) *yaml.Node {
	switch s.kind {
	case reflect.TypeFor[[]string]():
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for part := range strings.SplitSeq(text, ",") {
			if part != "" {
				list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: part, Style: yaml.DoubleQuotedStyle})
			}
		}
		return list
	case reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[float64](), reflect.TypeFor[time.Duration](),
		reflect.TypeFor[Size]():
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text, Style: yaml.DoubleQuotedStyle}
}

// SettingsTable returns the table of settings in docs/reference/configuration.md.
func SettingsTable() string {
	var b strings.Builder
	b.WriteString("| Flag and key | Environment | Default | Since | Meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, s := range settings() {
		if s.hidden {
			continue
		}
		def := s.def
		if def != "" {
			def = "`" + def + "`"
		}
		b.WriteString("| `" + strings.Join([]string{s.name + "` ", " `" + s.env + "` ", " " + def + " ", " " + s.since + " ",
			" " + s.help + " |\n"}, "|"))
	}
	return b.String()
}
