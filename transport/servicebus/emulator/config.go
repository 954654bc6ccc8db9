// Package emulator reads the configuration of the emulator of Azure Service Bus, usually Config.json.
package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// bytesMax bounds a configuration. The emulator has at most 50 entities.
const bytesMax = 4 << 20

// Config holds the entities of a configuration.
type Config struct {
	Queues []description.Entity
	Topics []string // names of topics
}

// document is the configuration. Names are compared without letter case, as the emulator does.
type document struct {
	UserConfig struct {
		Namespaces []struct {
			Name   string
			Queues []struct {
				Name       string
				Properties map[string]json.RawMessage
			}
			Topics []struct{ Name string }
		}
	}
}

// Read reads a configuration. It does not check the properties of queues.
func Read(from io.Reader) (Config, error) {
	text, err := io.ReadAll(io.LimitReader(from, bytesMax+1))
	if err != nil {
		return Config{}, err
	}
	if len(text) > bytesMax {
		return Config{}, errors.New("the configuration is too long")
	}
	var d document
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(text), "\uFEFF")), &d); err != nil {
		return Config{}, fmt.Errorf("the configuration is not valid: %w", err)
	}
	if len(d.UserConfig.Namespaces) != 1 {
		return Config{}, fmt.Errorf("UserConfig.Namespaces has %d namespaces, and must have one", len(d.UserConfig.Namespaces))
	}
	var c Config
	seen := map[string]bool{}
	for _, q := range d.UserConfig.Namespaces[0].Queues {
		if !entity.Valid(q.Name) {
			return Config{}, fmt.Errorf("the queue name %q is not valid", q.Name)
		}
		if seen[strings.ToLower(q.Name)] {
			return Config{}, fmt.Errorf("the queue %s is there twice", q.Name)
		}
		seen[strings.ToLower(q.Name)] = true
		e := description.Entity{Path: q.Name}
		if e.Properties, err = properties(q.Properties); err != nil {
			return Config{}, fmt.Errorf("queue %s: %w", q.Name, err)
		}
		c.Queues = append(c.Queues, e)
	}
	for _, t := range d.UserConfig.Namespaces[0].Topics {
		c.Topics = append(c.Topics, t.Name)
	}
	return c, nil
}

// properties returns the properties of a queue, sorted by name. Their values are texts, numbers, booleans,
// or null for the default.
func properties(given map[string]json.RawMessage) (list []description.Property, err error) {
	for name, raw := range given {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
		var text string
		switch v := value.(type) {
		case nil:
		case string:
			text = v
		case bool, float64:
			text = string(raw)
		default:
			return nil, fmt.Errorf("the property %s must be a text, a number or a boolean", name)
		}
		if text == "" {
			continue
		}
		list = append(list, description.Property{Name: name, Value: text})
	}
	slices.SortFunc(list, func(a, b description.Property) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
