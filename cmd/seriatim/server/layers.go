package server

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client"
)

// layer holds the settings of one source as texts, by name. It is a koanf provider.
type layer struct {
	source string // for error messages
	values map[string]string
	spelt  func(name string) string // returns the source's name for a setting
}

// Read returns the values for koanf.
func (l layer) Read() (map[string]any, error) {
	m := make(map[string]any, len(l.values))
	for k, v := range l.values {
		m[k] = v
	}
	return m, nil
}

// ReadBytes returns an error. koanf calls it only for providers with a parser.
func (layer) ReadBytes() ([]byte, error) { return nil, errors.New("a layer has no bytes") }

// check reports every setting of the layer that is unknown or unreadable.
func (l layer) check() error {
	known := make(map[string]setting)
	for _, s := range settings() {
		known[s.name] = s
	}
	var problems []error
	names := make([]string, 0, len(l.values))
	for name := range l.values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s, ok := known[name]
		if !ok {
			problems = append(problems, fmt.Errorf("%s: unknown setting %q%s", l.source, name, nearest(name)))
			continue
		}
		if _, err := parse(s.kind, l.values[name]); err != nil {
			spelling := name
			if l.spelt != nil {
				spelling = l.spelt(name)
			}
			problems = append(problems, fmt.Errorf("%s: %s: %w", l.source, spelling, err))
		}
	}
	return errors.Join(problems...)
}

// decoding returns a strict decoder: exact names, no unknown ones, and values as parse reads them.
func decoding(cfg *Config) koanf.UnmarshalConf {
	return koanf.UnmarshalConf{Tag: "name", DecoderConfig: &mapstructure.DecoderConfig{
		Result: cfg, TagName: "name", ErrorUnused: true,
		MatchName: func(key, field string) bool { return key == field },
		DecodeHook: func(_, to reflect.Type, value any) (any, error) {
			text, ok := value.(string)
			if !ok {
				return value, nil
			}
			return parse(to, text)
		},
	}}
}

func defaultsLayer() layer {
	l := layer{source: "defaults", values: map[string]string{}}
	for _, s := range settings() {
		l.values[s.name] = s.def
	}
	return l
}

// fileLayer reads a YAML file: one mapping whose keys are the flags without leading dashes. It
// uses the text of scalars, so that an account of zeros does not become a number.
func fileLayer(path string) (layer, error) {
	l := layer{source: path, values: map[string]string{}}
	text, err := os.ReadFile(path)
	if err != nil {
		return layer{}, err
	}
	var document map[string]yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return layer{}, fmt.Errorf("%s: %w", path, err)
	}
	for key, node := range document {
		value, err := nodeText(&node)
		if err != nil {
			return layer{}, fmt.Errorf("%s: line %d: %s: %w", path, node.Line, key, err)
		}
		l.values[key] = value
	}
	return l, nil
}

func nodeText(node *yaml.Node) (string, error) {
	switch node.Kind {
	case yaml.ScalarNode:
		if node.Tag == "!!null" {
			return "", nil
		}
		return node.Value, nil
	case yaml.AliasNode:
		return nodeText(node.Alias)
	case yaml.MappingNode, yaml.DocumentNode: // no setting is one
	case yaml.SequenceNode:
		parts := make([]string, len(node.Content))
		for i, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				return "", errors.New("the value must be a list of plain values")
			}
			parts[i] = item.Value
		}
		return strings.Join(parts, ","), nil
	}
	return "", errors.New("the value must be plain")
}

// envPrefix begins the name of every environment variable of the server.
const envPrefix = "SERIATIM_"

// EnvConfig names the configuration file, as --config does.
const EnvConfig = "SERIATIM_CONFIG"

// serviceLinks matches the variables that Kubernetes and Docker set in containers beside a service
// called seriatim or seriatim-... They are no settings.
var serviceLinks = regexp.MustCompile(`^SERIATIM_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)$`)

func environmentLayer(environ []string) (layer, error) {
	l := layer{source: "environment", values: map[string]string{}}
	byEnv, byName := make(map[string]string), make(map[string]string)
	for _, s := range settings() {
		byEnv[s.env], byName[s.name] = s.name, s.env
	}
	l.spelt = func(name string) string { return byName[name] }
	notOurs := append(append([]string{EnvConfig}, client.Environment...), hookVariables...)
	var problems []error
	for _, pair := range environ {
		key, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(key, envPrefix) {
			continue
		}
		name, known := byEnv[key]
		switch {
		case known && value == "":
			// Compose files set missing variables to an empty text.
		case known:
			l.values[name] = value
		case slices.Contains(notOurs, key), serviceLinks.MatchString(key):
		default:
			problems = append(problems, fmt.Errorf("environment: unknown variable %s", key))
		}
	}
	return l, errors.Join(problems...)
}

// flagsLayer holds the flags of the command line.
func flagsLayer(flags *pflag.FlagSet) layer {
	l := layer{source: "command line", values: map[string]string{}, spelt: func(name string) string { return "--" + name }}
	for _, s := range settings() {
		if f := flags.Lookup(s.name); f != nil && f.Changed {
			l.values[s.name] = f.Value.String()
		}
	}
	return l
}

// bindFlags makes a flag of every setting that wanted accepts.
func bindFlags(flags *pflag.FlagSet, wanted func(name string) bool) {
	for _, s := range settings() {
		if !wanted(s.name) {
			continue
		}
		f := flags.VarPF(&flagText{text: s.def, kind: kindName(s.kind)}, s.name, "", s.help)
		f.Hidden = s.hidden
		if s.kind == reflect.TypeFor[bool]() {
			f.NoOptDefVal = "true"
		}
	}
}

// flagText keeps the text of a flag. The check of the layer parses it, so that the errors of all
// sources are alike.
type flagText struct{ text, kind string }

// String returns the text.
func (f *flagText) String() string { return f.text }

// Set stores the text.
func (f *flagText) Set(text string) error { f.text = text; return nil }

// Type returns the word for the help.
func (f *flagText) Type() string { return f.kind }

func kindName(kind reflect.Type) string {
	switch kind.String() {
	case "[]string":
		return "list"
	case "float64":
		return "number"
	case "time.Duration":
		return "duration"
	case "server.Size":
		return "size"
	case "server.FreeSpace":
		return "free space"
	}
	return kind.String()
}

// nearest returns the settings that resemble an unknown name, as the end of an error.
func nearest(name string) string {
	var names []string
	for _, s := range settings() {
		names = append(names, s.name)
	}
	near := arguments.Nearest(strings.ReplaceAll(name, "_", "-"), names)
	if len(near) == 0 {
		return ""
	}
	return `, did you mean "` + strings.Join(near, `" or "`) + `"?`
}
