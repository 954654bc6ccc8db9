package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/template"

	"gopkg.in/yaml.v3"
)

func (f Format) writeDocument(to io.Writer, document any) error {
	if f.kind == JSON {
		encoder := newEncoder(to)
		encoder.SetIndent("", "  ")
		return encoder.Encode(document)
	}
	var text bytes.Buffer
	if err := newEncoder(&text).Encode(document); err != nil {
		return err
	}
	switch f.kind {
	case Lines:
		return writeLines(to, text.Bytes())
	case YAML:
		return writeYAML(to, text.Bytes())
	}
	value, err := decode(text.Bytes())
	if err != nil {
		return err
	}
	err = f.template.Execute(to, value)
	if _, wrong := errors.AsType[template.ExecError](err); wrong {
		return UsageError{fmt.Errorf("the template of -o: %w", err)}
	}
	return err
}

// newEncoder returns an encoder that leaves <, > and & readable.
func newEncoder(to io.Writer) *json.Encoder {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return encoder
}

// decode returns the value of a JSON text, with numbers as they are written.
func decode(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return value, decoder.Decode(&value)
}

// compact is the function json of templates.
func compact(value any) (string, error) {
	var text bytes.Buffer
	err := newEncoder(&text).Encode(value)
	return string(bytes.TrimSpace(text.Bytes())), err
}

// writeLines writes each entry of the only list of a document, or the whole document, on one line.
func writeLines(to io.Writer, text []byte) error {
	if entries, ok := onlyList(text); ok {
		for _, entry := range entries {
			if _, err := fmt.Fprintf(to, "%s\n", entry); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := to.Write(text)
	return err
}

// onlyList returns the entries of a document that is a list or has exactly one.
func onlyList(text []byte) (entries []json.RawMessage, ok bool) {
	if json.Unmarshal(text, &entries) == nil {
		return entries, true
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return nil, false
	}
	lists := 0
	for _, member := range members {
		var list []json.RawMessage
		if json.Unmarshal(member, &list) == nil && list != nil {
			entries = list
			lists++
		}
	}
	return entries, lists == 1
}

// writeYAML writes a JSON text as YAML, with its members in the same order.
func writeYAML(to io.Writer, text []byte) error {
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil { // JSON is YAML
		return err
	}
	if err := inBlocks(&node); err != nil {
		return err
	}
	encoder := yaml.NewEncoder(to)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return err
	}
	return encoder.Close()
}

// inBlocks removes the brackets and the quotes that only JSON needs.
func inBlocks(node *yaml.Node) error {
	node.Style = 0
	if node.Tag == "!!str" {
		return node.Encode(node.Value) // with quotes if another reader would take it for a number or a bool
	}
	for _, child := range node.Content {
		if err := inBlocks(child); err != nil {
			return err
		}
	}
	return nil
}
