package plants

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed edits/*.edit
var edits embed.FS

// edit is one replacement.
type edit struct {
	of        string // the file of edits
	in        string // folder of the product
	find, put string
}

// addition is a file that the product does not have.
type addition struct {
	of, in, name, content string
}

// Names are those of the edit files, sorted.
func Names() ([]string, error) {
	entries, err := edits.ReadDir("edits")
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".edit"))
	}
	return names, err
}

// parse reads an edit file.
func parse(name, text string) (list []edit, added []addition, err error) {
	in, find := "", ""
	sections := strings.Split("\n"+text, "\n-- ")
	for _, section := range sections[1:] {
		head, body, _ := strings.Cut(section, "\n")
		body = strings.TrimRight(body, "\n")
		what, argument, _ := strings.Cut(strings.TrimSpace(head), " ")
		switch {
		case what == "in" && argument != "":
			in = argument
		case what == "find" && in != "" && find == "" && body != "":
			find = body
		case what == "put" && find != "":
			list, find = append(list, edit{name, in, find, body}), ""
		case what == "add" && in != "" && argument != "":
			added = append(added, addition{name, in, argument, body})
		default:
			return nil, nil, fmt.Errorf("%s: a section %q out of place", name, head)
		}
	}
	if find != "" || len(list)+len(added) == 0 {
		return nil, nil, fmt.Errorf("%s: an edit without an end", name)
	}
	return list, added, nil
}

// load parses all edit files.
func load() (list []edit, added []addition, err error) {
	names, err := Names()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		text, err := edits.ReadFile("edits/" + name + ".edit")
		if err != nil {
			return nil, nil, err
		}
		some, more, err := parse(name, string(text))
		if err != nil {
			return nil, nil, err
		}
		list, added = append(list, some...), append(added, more...)
	}
	return list, added, nil
}

// product returns the hand-written files of the product below a folder, with their text.
func product(root, in string, into map[string]string) error {
	err := filepath.WalkDir(filepath.Join(root, in), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if _, known := into[rel]; known {
			return nil
		}
		text, err := os.ReadFile(path)
		into[rel] = string(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", in, err)
	}
	return nil
}

// Apply returns the edited and the added files of the product at root, by their paths. The error
// contains every edit that cannot be made.
func Apply(root string) (map[string]string, error) {
	list, added, err := load()
	if err != nil {
		return nil, err
	}
	before, after, places := map[string]string{}, map[string]string{}, map[string]string{}
	var problems []error
	for _, e := range list {
		if err := product(root, e.in, before); err != nil {
			return nil, err
		}
		path, err := locate(e, before, after)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		text := before[path]
		if changed, known := after[path]; known {
			text = changed
		}
		after[path] = strings.Replace(text, e.find, e.put, 1)
		if places[e.of] == "" {
			places[e.of] = path
		}
	}
	for path, text := range after {
		after[path] = imported(text)
	}
	for _, a := range added {
		beside := places[a.of]
		if beside == "" {
			problems = append(problems, fmt.Errorf("%s: no edited file to put %s beside", a.of, a.name))
			continue
		}
		path := filepath.Join(filepath.Dir(beside), a.name)
		if _, known := before[path]; known {
			problems = append(problems, fmt.Errorf("%s: there is a %s already", a.of, path))
		}
		after[path] = imported(packageClause.FindString(before[beside]) + "\n" + a.content + "\n")
	}
	return after, errors.Join(problems...)
}

// locate finds the one file with the text of an edit.
func locate(e edit, before, after map[string]string) (string, error) {
	var found []string
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if path != e.in && !strings.HasPrefix(path, e.in+string(filepath.Separator)) {
			continue
		}
		text := before[path]
		if changed, known := after[path]; known {
			text = changed
		}
		for range strings.Count(text, e.find) {
			found = append(found, path)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("edits/%s.edit: below %s the text is there %d times, not once %v:\n%s", e.of, e.in, len(found), found, e.find)
	}
	return found[0], nil
}

var packageClause = regexp.MustCompile(`(?m)^package \w+\n`)

// own is the import path prefix of packages that edits use.
const own = "github.com/seriatimq/seriatim/test/faults/plants/"

// imported adds the imports that a text uses.
func imported(text string) string {
	var imports strings.Builder
	for _, name := range []string{"plant", "failpoint"} {
		path := `"` + own + name + `"`
		if regexp.MustCompile(`\b`+name+`\.[A-Z]`).MatchString(text) && !strings.Contains(text, path) {
			imports.WriteString("\nimport " + path + "\n")
		}
	}
	return packageClause.ReplaceAllStringFunc(text, func(clause string) string { return clause + imports.String() })
}

// Write writes the files into a folder, with the overlay for the go command, whose path
// it returns.
func Write(root, dir string) (string, error) {
	files, err := Apply(root)
	if err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range files {
		// All files are in one folder, which the go command uses only through the overlay.
		to := filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "__"))
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil { //nolint:gosec // as any source file
			return "", err
		}
		overlay.Replace[filepath.Join(root, path)] = to
	}
	text, err := json.MarshalIndent(overlay, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, append(text, '\n'), 0o644) //nolint:gosec // as any source file
}
