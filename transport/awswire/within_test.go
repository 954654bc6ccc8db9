package awswire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// wrapped has two collections that are inside elements of their own. One contains the other kind.
type wrapped struct {
	Keys    []string
	Entries []wrappedEntry
}

type wrappedEntry struct {
	ID    string
	Pairs []Pair
}

var wrappedSchema = Structure(
	Within("TagKeys", Strings("TagKeys", "member", func(v *wrapped) *[]string { return &v.Keys })),
	Within("Entries", Structures("Entries", "member", Structure(
		String("Id", func(v *wrappedEntry) *string { return &v.ID }),
		Within("Attributes", StringMap("Attributes", "entry", "key", "value", func(v *wrappedEntry) *[]Pair { return &v.Pairs })),
	), func(v *wrapped) *[]wrappedEntry { return &v.Entries })),
)

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, form string
		want       wrapped
		xml        string // of the result element
	}{
		{"nothing", "", wrapped{}, "<TagKeys></TagKeys><Entries></Entries>"},
		{"empty list, as SDKs send it", "TagKeys=&Entries=", wrapped{}, "<TagKeys></TagKeys><Entries></Entries>"},
		{
			"all", "TagKeys.member.2=b&TagKeys.member.1=a&Entries.member.1.Id=x&" +
				"Entries.member.1.Attributes.entry.1.key=k&Entries.member.1.Attributes.entry.1.value=v",
			wrapped{Keys: []string{"a", "b"}, Entries: []wrappedEntry{{ID: "x", Pairs: []Pair{{"k", "v"}}}}},
			"<TagKeys><member>a</member><member>b</member></TagKeys><Entries><member><Id>x</Id>" +
				"<Attributes><entry><key>k</key><value>v</value></entry></Attributes></member></Entries>",
		},
		{"without the inner name", "TagKeys.1=a&member.1=b", wrapped{}, "<TagKeys></TagKeys><Entries></Entries>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			form, err := ParseForm(tc.form)
			clustertest.Must(t, err)
			var got wrapped
			clustertest.Must(t, wrappedSchema.DecodeForm(form, &got))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
			if xml := string(wrappedSchema.AppendXML(nil, "ns", "Do", "id", &got)); !strings.Contains(xml,
				"<DoResult>"+tc.xml+"</DoResult>") {
				t.Errorf("written as %s", xml)
			}
		})
	}
	if info := wrappedSchema.Members()[0]; info.Name != "TagKeys" || info.Query != "TagKeys.member" {
		t.Errorf("described as %+v", info)
	}
}

func TestEmptyResult(t *testing.T) {
	t.Parallel()
	type nothing struct{}
	if xml := string(EmptyResult[nothing]().AppendXML(nil, "ns", "Do", "id", &nothing{})); !strings.Contains(xml, "<DoResult/>") {
		t.Errorf("written as %s", xml)
	}
	if xml := string(Structure[nothing]().AppendXML(nil, "ns", "Do", "id", &nothing{})); strings.Contains(xml, "Result") {
		t.Errorf("written as %s", xml)
	}
}
