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
	Topics []description.Entity
}

// named is an entity of a configuration.
type named struct {
	Name       string
	Properties map[string]json.RawMessage
}

// document is the configuration. Names are compared without letter case, as the emulator does.
type document struct {
	UserConfig struct {
		Namespaces []struct {
			Name   string
			Queues []named
			Topics []struct {
				named
				Subscriptions []struct {
					named
					Rules []rule
				}
			}
		}
	}
}

// Read reads a configuration. It does not check the properties of entities.
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
	paths := map[string]bool{} // in lower case
	for _, q := range d.UserConfig.Namespaces[0].Queues {
		e, err := q.entity("queue", q.Name, paths)
		if err != nil {
			return Config{}, err
		}
		c.Queues = append(c.Queues, e)
	}
	for _, t := range d.UserConfig.Namespaces[0].Topics {
		e, err := t.entity("topic", t.Name, paths)
		if err != nil {
			return Config{}, err
		}
		for _, s := range t.Subscriptions {
			path := entity.Subscription(t.Name, s.Name)
			one, err := s.entity("subscription", path, paths)
			if err != nil {
				return Config{}, err
			}
			if one.Rules, err = definitions(path, s.Rules); err != nil {
				return Config{}, err
			}
			e.Subscriptions = append(e.Subscriptions, one)
		}
		c.Topics = append(c.Topics, e)
	}
	return c, nil
}

// entity returns an entity with a path that no other one has.
func (n *named) entity(kind, path string, paths map[string]bool) (e description.Entity, err error) {
	if _, _, is := entity.SplitSubscription(path); !entity.Valid(path) || is != (kind == "subscription") {
		return e, fmt.Errorf("the %s name %q is not valid", kind, n.Name)
	}
	if paths[strings.ToLower(path)] {
		return e, fmt.Errorf("the %s %s is there twice", kind, path)
	}
	paths[strings.ToLower(path)] = true
	e.Path = n.Name
	if e.Properties, err = properties(n.Properties); err != nil {
		err = fmt.Errorf("%s %s: %w", kind, path, err)
	}
	return e, err
}

// properties returns the properties of an entity, sorted by name. Their values are texts, numbers, booleans,
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
