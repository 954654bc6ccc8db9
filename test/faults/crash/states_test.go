package crash

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contents lists an image as path to content; a directory ends in a slash.
func contents(m *image) map[string]string {
	found := map[string]string{}
	m.walk(rootInode, "", func(path string, content []byte, dir bool) {
		if dir {
			path += "/"
		}
		found[path] = string(content)
	})
	return found
}

// life is a directory in which a record is replaced as one should: a new file
// is written and synced, renamed, and the directory synced.
var life = []event{
	{kind: kindName, inode: rootInode, name: "new", target: 2},
	{kind: kindWrite, inode: 2, data: []byte("content")},
	{kind: kindSync, inode: 2},
	{kind: kindRename, inode: rootInode, name: "new", target: 2, newDir: rootInode, newName: "record"},
	{kind: kindSync, inode: rootInode},
	{kind: kindWrite, inode: 2, offset: 7, data: slices.Repeat([]byte("x"), 600)},
	{kind: kindTruncate, inode: 2, size: 700},
	{kind: kindSync, inode: 2},
}

func TestStatesKeepWhatWasSynced(t *testing.T) {
	written := "content" + string(slices.Repeat([]byte("x"), 600))
	padded := written + string(make([]byte, 93))
	torn := ("content" + string(slices.Repeat([]byte("x"), 512)) + string(make([]byte, 700)))[:700]
	want := map[int]map[string]map[string]string{
		4: { // before the directory was synced: the file is whole and may have no name
			"nothing":       {},
			"all":           {"record": "content"},
			"only the last": {"record": "content"},
			"no names":      {},
			"only names":    {"record": "content"},
		},
		7: { // after it: what was appended since may be gone, in any combination
			"nothing":               {"record": "content"},
			"all":                   {"record": padded},
			"only the last":         {"record": "content" + string(make([]byte, 693))},
			"last torn at a sector": {"record": torn},
			"no names":              {"record": padded},
			"only names":            {"record": "content"},
		},
	}
	got := map[int]map[string]map[string]string{}
	err := states(life, 1, func(s state) error {
		if s.variant == "half" {
			return nil // whatever it is, it is one of the others or between them
		}
		if got[s.at] == nil {
			got[s.at] = map[string]map[string]string{}
		}
		got[s.at][s.variant] = contents(s.image)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSumTellsImagesApart(t *testing.T) {
	build := func(events ...event) *image {
		m := newImage()
		for _, e := range events {
			m.apply(e)
		}
		return m
	}
	name := event{kind: kindName, inode: rootInode, name: "a", target: 2}
	images := map[string]*image{
		"empty":          newImage(),
		"a file":         build(name),
		"a directory":    build(event{kind: kindName, inode: rootInode, name: "a", target: 2, dir: true}),
		"another name":   build(event{kind: kindName, inode: rootInode, name: "b", target: 2}),
		"with content":   build(name, event{kind: kindWrite, inode: 2, data: []byte("x")}),
		"longer":         build(name, event{kind: kindTruncate, inode: 2, size: 1}),
		"other content":  build(name, event{kind: kindWrite, inode: 2, data: []byte("y")}),
		"two of a name":  build(name, event{kind: kindName, inode: rootInode, name: "b", target: 2}),
		"file in folder": build(event{kind: kindName, inode: rootInode, name: "a", target: 2, dir: true}, event{kind: kindName, inode: 2, name: "b", target: 3}),
	}
	seen := map[string]string{}
	for name, m := range images {
		sum := m.sum()
		if other, ok := seen[string(sum[:])]; ok {
			t.Errorf("%q and %q have one sum", name, other)
		}
		seen[string(sum[:])] = name
		if m.clone().sum() != sum {
			t.Errorf("the clone of %q differs", name)
		}
	}
}

func TestImageBecomesADirectory(t *testing.T) {
	m := newImage()
	for _, e := range life {
		m.apply(e)
	}
	m.apply(event{kind: kindName, inode: rootInode, name: "folder", target: 3, dir: true})
	m.apply(event{kind: kindName, inode: 3, name: "file", target: 4})
	dir := filepath.Join(t.TempDir(), "data")
	if err := m.write(dir); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for path := range contents(m) {
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			text = nil
		}
		got[path] = string(text)
	}
	if diff := cmp.Diff(contents(m), got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "folder", "file")); err != nil {
		t.Error(err)
	}
}
