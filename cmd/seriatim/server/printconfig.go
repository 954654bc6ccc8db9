package server

import (
	"io"
	"reflect"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/seriatimq/seriatim/transport/ops"
)

// printConfig writes cfg as a file for --config, with the description above each key. It omits
// hidden settings with their defaults.
func printConfig(out io.Writer, cfg Config) error {
	document := &yaml.Node{Kind: yaml.MappingNode}
	for _, s := range settings() {
		if s.hidden && s.text(cfg) == s.usual() {
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

// nodeSettings returns the settings for the comparison of nodes, without hidden ones at their defaults.
func nodeSettings(cfg Config) (list []ops.NodeSetting) {
	for _, s := range settings() {
		if value := s.text(cfg); !s.hidden || value != s.usual() {
			list = append(list, ops.NodeSetting{Name: s.name, Value: value, Default: s.usual(), Own: s.own()})
		}
	}
	return list
}

// own reports whether every node has its own value.
func (s *setting) own() bool {
	for _, end := range []string{"-addr", "-file", "-cert", "-key", "-ca"} {
		if strings.HasSuffix(s.name, end) {
			return true
		}
	}
	switch s.name {
	case "node-name", "data-dir", "bootstrap-expect", "join", "advertise-peer", "advertise-gossip":
		return true
	}
	return false
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
