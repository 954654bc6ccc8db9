package awswire

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// FuzzFormsOfOneRequest checks that a request in JSON means the same as one in form encoding, in
// any order of the parameters.
func FuzzFormsOfOneRequest(f *testing.F) {
	f.Add("name", int64(-7), true, "\x00\xff", "a", "b", "key", "value")
	f.Add("ü&=+%", int64(1)<<62, false, "", "1", ".", "Map.1.Key", "\U0001F600")
	f.Fuzz(func(t *testing.T, name string, count int64, flag bool, raw, first, second, key, value string) {
		for _, text := range []string{name, first, second, key, value} {
			if !utf8.ValidString(text) {
				return // neither encoding can carry it
			}
		}
		want := sample{
			Name: name, Optional: TextOf(value), Count: IntOf(count), Flag: flag, Raw: raw,
			List: []string{first, second}, Map: []Pair{{key, value}},
			Items: []item{{Text: first, Size: IntOf(count)}, {Raw: raw + "x"}},
			Named: []item{{Key: key, Text: second}},
		}
		var fromJSON, fromForm sample
		clustertest.Must(t, sampleSchema.DecodeJSON(string(sampleSchema.AppendJSON(nil, &want)), &fromJSON))
		encoded := base64.StdEncoding.EncodeToString
		pairs := []string{
			"Name", name, "Optional", value, "Count", fmt.Sprint(count), "Flag", fmt.Sprint(flag), "Raw", encoded([]byte(raw)),
			"ListItem.2", second, "ListItem.1", first, "Entry.1.Value", value, "Entry.1.Key", key,
			"Item.1.Size", fmt.Sprint(count), "Item.1.Text", first, "Item.2.Raw", encoded([]byte(raw + "x")),
			"NamedItem.1.Value.Text", second, "NamedItem.1.Name", key,
		}
		var text []string
		for i := 0; i < len(pairs); i += 2 {
			text = append(text, url.QueryEscape(pairs[i])+"="+url.QueryEscape(pairs[i+1]))
		}
		form, err := ParseForm(strings.Join(text, "&"))
		if err == nil {
			err = sampleSchema.DecodeForm(form, &fromForm)
		}
		clustertest.Must(t, err)
		if diff := cmp.Diff(fromJSON, fromForm); diff != "" {
			t.Fatalf("-JSON +form:\n%s", diff)
		}
	})
}
