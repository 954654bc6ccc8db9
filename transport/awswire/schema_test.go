package awswire

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// sample has a member of every kind.
type sample struct {
	Name     string
	Optional Text
	Count    Int
	Flag     bool
	Raw      string
	List     []string
	Map      []Pair
	Items    []item
	Named    []item
}

type item struct {
	Key  string
	Text string
	Raw  string
	Size Int
}

var itemSchema = Structure(
	String("Text", func(v *item) *string { return &v.Text }),
	Blob("Raw", func(v *item) *string { return &v.Raw }),
	Integer("Size", func(v *item) *Int { return &v.Size }),
)

var sampleSchema = Structure(
	String("Name", func(v *sample) *string { return &v.Name }),
	OptionalString("Optional", func(v *sample) *Text { return &v.Optional }),
	Integer("Count", func(v *sample) *Int { return &v.Count }),
	Boolean("Flag", func(v *sample) *bool { return &v.Flag }),
	Blob("Raw", func(v *sample) *string { return &v.Raw }),
	Strings("List", "ListItem", func(v *sample) *[]string { return &v.List }),
	StringMap("Map", "Entry", "Key", "Value", func(v *sample) *[]Pair { return &v.Map }),
	Structures("Items", "Item", itemSchema, func(v *sample) *[]item { return &v.Items }),
	StructureMap("Named", "NamedItem", itemSchema, func(v *item) *string { return &v.Key }, func(v *sample) *[]item { return &v.Named }),
)

var full = sample{
	Name: "n\u00e9\U0001F600\"\\\n\t\x01/<&>", Optional: TextOf(""), Count: IntOf(-7), Flag: true, Raw: "\x00\xff\x1e",
	List: []string{"a", "b"}, Map: []Pair{{"k", "v"}, {"k2", ""}},
	Items: []item{{Text: "one", Size: IntOf(1)}, {Raw: "\x02"}},
	Named: []item{{Key: "x", Text: "t"}, {Key: "y", Raw: "r"}},
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	text := sampleSchema.AppendJSON(nil, &full)
	if !json.Valid(text) {
		t.Fatalf("not valid JSON: %s", text)
	}
	var got sample
	clustertest.Must(t, sampleSchema.DecodeJSON(string(text), &got))
	if diff := cmp.Diff(full, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       sample
	}{
		{"empty body", "", sample{}},
		{"white space", " \r\n\t ", sample{}},
		{"empty object", "{}", sample{}},
		{"null equals absent", `{"Name":null,"Optional":null,"Count":null,"List":null,"Map":null,"Items":null,"Named":null}`, sample{}},
		{"null elements are skipped", `{"List":["a",null],"Map":{"k":null},"Items":[null],"Named":{"k":null}}`,
			sample{List: []string{"a"}}},
		{"unknown members are ignored", `{"x":{"Name":[1,2,{"y":null}]},"name":"lower","Name":"n","z":-1.5e+3,"t":true,"f":false}`,
			sample{Name: "n"}},
		{"escapes", `{"Name":"\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00"}`, sample{Name: "\"\\/\b\f\n\r\tA\u00e9\U0001F600"}},
		{"given empty", `{"Optional":""}`, sample{Optional: TextOf("")}},
		{"last of a name counts", `{"Name":"a","Name":"b"}`, sample{Name: "b"}},
		{"integers", `{"Count":-9223372036854775808}`, sample{Count: IntOf(-9223372036854775808)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got sample
			clustertest.Must(t, sampleSchema.DecodeJSON(tc.text, &got))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"x":`, depthMax+1) + "1" + strings.Repeat("}", depthMax+1)
	long := `{"Items":[` + strings.TrimSuffix(strings.Repeat("{},", elementsMax+1), ",") + `]}`
	for _, tc := range []struct{ name, text, message string }{
		{"string for an integer", `{"Count":"5"}`, "STRING_VALUE can not be converted to an Integer"},
		{"fraction for an integer", `{"Count":1.5}`, "DECIMAL_VALUE can not be converted to an Integer"},
		{"integer out of range", `{"Count":9223372036854775808}`, "the number 9223372036854775808 is out of the range of an Integer"},
		{"number for a string", `{"Name":5}`, "NUMBER_VALUE can not be converted to a String"},
		{"boolean for a string", `{"Name":true}`, "TRUE_VALUE can not be converted to a String"},
		{"number in a map", `{"Map":{"k":5}}`, "NUMBER_VALUE can not be converted to a String"},
		{"string for a list", `{"List":"a"}`, "STRING_VALUE can not be converted to a list"},
		{"list for a structure", `{"Items":[[]]}`, "START_ARRAY can not be converted to a structure"},
		{"list at the top", `[]`, "START_ARRAY can not be converted to a structure"},
		{"bad base64", `{"Raw":"*"}`, "the value of Raw is not valid base64"},
		{"too deep", deep, "too many nested values"},
		{"too long", long, "The request has more than 4096 elements"},
		{"cut off", `{"Name":"a`, "a string without end"},
		{"text after", `{} {}`, "text after the end of the value"},
		{"comma at the end", `{"Name":"a",}`, "a comma before }"},
		{"no colon", `{"Name" "a"}`, "expected :"},
		{"no quotes", `{Name:1}`, "expected a member name"},
		{"half a pair", `{"Name":"\ud83d"}`, "half of a surrogate pair"},
		{"low half first", `{"Name":"\ude00\ud83d"}`, "half of a surrogate pair"},
		{"no UTF-8", "{\"Name\":\"\xff\"}", "malformed UTF-8"},
		{"control character", "{\"Name\":\"\n\"}", "a control character in a string"},
		{"unknown escape", `{"Name":"\x"}`, "an unknown escape"},
		{"leading zero", `{"x":01}`, "expected , or }"},
		{"bare word", `{"x":nul}`, "an unknown word"},
		{"zero byte", "\x00", "expected a value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var e *Error
			err := sampleSchema.DecodeJSON(tc.text, &sample{})
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if e.Type != "com.amazon.coral.service#SerializationException" || e.Status != 400 {
				t.Errorf("got %+v", e)
			}
			if !strings.Contains(e.Message, tc.message) {
				t.Errorf("got %q, want it to contain %q", e.Message, tc.message)
			}
		})
	}
}

func TestDecodeForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       sample
	}{
		{"nothing", "", sample{}},
		{"scalars", "Name=a+b%26&Count=5&Optional=&Raw=AAE%3D",
			sample{Name: "a b&", Count: IntOf(5), Optional: TextOf(""), Raw: "\x00\x01"}},
		{"list in order of its indexes", "ListItem.10=c&ListItem.2=b&ListItem.1=a", sample{List: []string{"a", "b", "c"}}},
		{"list without an index", "ListItem=a", sample{List: []string{"a"}}},
		{"list with both", "ListItem.1=b&ListItem=a", sample{List: []string{"a", "b"}}},
		{"map", "Entry.2.Key=b&Entry.2.Value=2&Entry.1.Key=a&Entry.1.Value=1", sample{Map: []Pair{{"a", "1"}, {"b", "2"}}}},
		{"map without an index", "Entry.Key=a&Entry.Value=1", sample{Map: []Pair{{"a", "1"}}}},
		{"structures with gaps", "Item.7.Text=x&Item.3.Size=1", sample{Items: []item{{Size: IntOf(1)}, {Text: "x"}}}},
		{"structure map", "NamedItem.1.Name=n&NamedItem.1.Value.Text=t&NamedItem.1.Value.Raw=AA%3D%3D",
			sample{Named: []item{{Key: "n", Text: "t", Raw: "\x00"}}}},
		{"unknown and empty parts", "&&Foo=1&Name=a&=x", sample{Name: "a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			form, err := ParseForm(tc.text)
			clustertest.Must(t, err)
			var got sample
			clustertest.Must(t, sampleSchema.DecodeForm(form, &got))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseFormRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text string }{
		{"bad escape", "a=%zz"},
		{"bad escape in a name", "%=a"},
		{"no UTF-8", "a=%ff"},
		{"too many parts of a name", "a.b.c.d.e.f.g.h.i=1"},
		{"too many parameters", strings.Repeat("a=1&", parametersMax+1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var e *Error
			if _, err := ParseForm(tc.text); !errors.As(err, &e) || e.Code != "MalformedQueryString" || e.Status != 400 {
				t.Errorf("got %v", err)
			}
		})
	}
	form, err := ParseForm("Count=abc")
	clustertest.Must(t, err)
	err = sampleSchema.DecodeForm(form, &sample{})
	if err == nil || err.Error() != "InvalidParameterValue: Value abc for parameter Count is invalid. Reason: Must be an integer." {
		t.Errorf("got %v", err)
	}
}

func TestAppendXML(t *testing.T) {
	t.Parallel()
	got := string(sampleSchema.AppendXML(nil, "urn:n", "Do", "id-1", &full))
	want := `<?xml version="1.0"?><DoResponse xmlns="urn:n"><DoResult><Name>` + "n\u00e9\U0001F600&quot;\\\n\t\uFFFD/&lt;&amp;&gt;" +
		`</Name><Optional></Optional><Count>-7</Count><Flag>true</Flag><Raw>AP8e</Raw><ListItem>a</ListItem><ListItem>b</ListItem>` +
		`<Entry><Key>k</Key><Value>v</Value></Entry><Entry><Key>k2</Key><Value></Value></Entry>` +
		`<Item><Text>one</Text><Size>1</Size></Item><Item><Raw>Ag==</Raw></Item>` +
		`<NamedItem><Name>x</Name><Value><Text>t</Text></Value></NamedItem><NamedItem><Name>y</Name><Value><Raw>cg==</Raw></Value></NamedItem>` +
		`</DoResult><ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></DoResponse>`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	empty := Structure(String("A", func(v *item) *string { return &v.Text }))
	if got := string(empty.AppendXML(nil, "urn:n", "Do", "i", &item{})); !strings.Contains(got, "<DoResult/>") {
		t.Errorf("an empty result must be an empty element: %s", got)
	}
	if got := string(Structure[item]().AppendXML(nil, "urn:n", "Do", "i", &item{})); strings.Contains(got, "Result") {
		t.Errorf("an action without output must have no result: %s", got)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"Name":"a\u00e9","Count":12,"List":["x",null],"Map":{"a":"b"},"Items":[{"Text":"t"}],"Flag":true}`)
	f.Add(`{"Name":"\ud83d\ude00","x":[{},[],1e5,-0,"\\"]}`)
	f.Add(string(sampleSchema.AppendJSON(nil, &full)))
	f.Fuzz(func(t *testing.T, text string) {
		var got sample
		err := sampleSchema.DecodeJSON(text, &got)
		var want map[string]any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		reference := decoder.Decode(&want)
		if reference == nil {
			if _, e := decoder.Token(); !errors.Is(e, io.EOF) {
				reference = errors.New("text after the value")
			}
		}
		if err == nil && reference != nil && strings.Trim(text, " \t\r\n") != "" {
			t.Fatalf("accepted what encoding/json refuses (%v): %q", reference, text)
		}
		if err != nil {
			if reference == nil && convertible(text, want) {
				t.Fatalf("refused %v: %q", err, text)
			}
			return
		}
		if s, ok := want["Name"].(string); ok && s != got.Name {
			t.Fatalf("Name is %q, want %q", got.Name, s)
		}
		if n, ok := want["Count"].(json.Number); ok && (!got.Count.Given || n.String() != strconv.FormatInt(got.Count.Value, 10)) &&
			n.String() != "-0" {
			t.Fatalf("Count is %+v, want %s", got.Count, n)
		}
		if m, ok := want["Map"].(map[string]any); ok && strings.Count(text, `"Map"`) == 1 {
			pairs := map[string]any{}
			for _, p := range got.Map {
				pairs[p.Key] = p.Value
			}
			maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
			if diff := cmp.Diff(m, pairs); diff != "" && !strings.Contains(text, "null") {
				t.Fatal(diff)
			}
		}
		var again sample
		if err := sampleSchema.DecodeJSON(string(sampleSchema.AppendJSON(nil, &got)), &again); err != nil {
			t.Fatalf("own output refused: %v", err)
		}
	})
}

// convertible reports whether we must accept a text that encoding/json accepts: one without members
// of the schema, without malformed UTF-8 or surrogates, and without nesting.
func convertible(text string, v map[string]any) bool {
	if !utf8.ValidString(text) || strings.Contains(text, `\u`) || strings.ContainsAny(text[1:], "{[") {
		return false
	}
	for _, name := range sampleSchema.names {
		// encoding/json keeps only the last of repeated members.
		if strings.Contains(text, name) || v[name] != nil {
			return false
		}
	}
	return true
}

func FuzzForm(f *testing.F) {
	f.Add("Name=a&Count=1&ListItem.1=x&Entry.1.Key=k&Item.2.Text=t")
	f.Add("A.1.B.2.C=%41+b&A=1")
	f.Fuzz(func(t *testing.T, text string) {
		form, err := ParseForm(text)
		if err != nil {
			return
		}
		var v sample
		_ = sampleSchema.DecodeForm(form, &v)
		var last string
		given := false
		for pair := range strings.SplitSeq(text, "&") {
			if value, ok := strings.CutPrefix(pair, "Name="); ok && !strings.ContainsAny(value, "%+") {
				last, given = value, true
			} else if strings.ContainsAny(pair, "%+") {
				return // the name may be escaped
			}
		}
		if given && v.Name != last {
			t.Fatalf("Name is %q, want %q", v.Name, last)
		}
	})
}

func FuzzXMLText(f *testing.F) {
	f.Add("a\r\n<&>\"\x00\ufffe\xff")
	f.Fuzz(func(t *testing.T, text string) {
		var got struct {
			Text string `xml:",chardata"`
		}
		encoded := appendElement(nil, "A", text)
		if err := xml.Unmarshal(encoded, &got); err != nil {
			t.Fatalf("%v: %q", err, encoded)
		}
		allowed := func(r rune) rune {
			if r == utf8.RuneError || (r < ' ' && r != '\t' && r != '\n' && r != '\r') || r == 0xFFFE || r == 0xFFFF {
				return utf8.RuneError
			}
			return r
		}
		if want := strings.Map(allowed, text); got.Text != want {
			t.Fatalf("got %q, want %q", got.Text, want)
		}
	})
}

func FuzzJSONString(f *testing.F) {
	f.Add("a\"\\\n\x00\u2028\xff")
	f.Fuzz(func(t *testing.T, text string) {
		var got string
		clustertest.Must(t, json.Unmarshal(appendJSONString(nil, text), &got))
		if want := strings.ToValidUTF8(text, "\uFFFD"); utf8.ValidString(text) && got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestMembers(t *testing.T) {
	t.Parallel()
	var kinds []Kind
	for _, m := range sampleSchema.Members() {
		kinds = append(kinds, m.Kind)
	}
	want := []Kind{KindString, KindString, KindInteger, KindBoolean, KindBlob, KindStringList, KindStringMap, KindStructureList,
		KindStructureMap}
	if !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
}

func BenchmarkDecodeJSON(b *testing.B) {
	text := `{"Name":"` + strings.Repeat("x", 1024) + `","Count":5,"Named":{"a":{"Text":"t","Raw":"` +
		base64.StdEncoding.EncodeToString([]byte("raw")) + `"}}}`
	b.ReportAllocs()
	for b.Loop() {
		var v sample
		if err := sampleSchema.DecodeJSON(text, &v); err != nil {
			b.Fatal(err)
		}
	}
}
