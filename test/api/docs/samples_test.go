package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// suites are the suites of the SDKs that docs/reference/service-bus-samples.md names, by its headings.
var suites = map[string]struct {
	cases   string         // a pattern of files
	defined *regexp.Regexp // the definition of a case
	of      func(file, name string) string
	pinned  string // the file with the version of the SDK
	version *regexp.Regexp
}{
	"Python": {
		"servicebus-python/cases/*.py", regexp.MustCompile(`(?m)^@case.*\nasync def (\w+)`), dotted,
		"servicebus-python/requirements.txt", regexp.MustCompile(`azure-servicebus==(.*)`),
	},
	"JavaScript": {
		"servicebus-js/cases/*.mjs", regexp.MustCompile(`(?m)^test\('([^']+)'`), dotted,
		"servicebus-js/package.json", regexp.MustCompile(`"@azure/service-bus": "(.*)"`),
	},
	"Java": {
		"servicebus-java/src/main/java/*.java", regexp.MustCompile(`@Test.*\n\s*static void (\w+)`), dotted,
		"servicebus-java/pom.xml", regexp.MustCompile(`<servicebus.version>(.*)</`),
	},
	"Go": {
		"servicebus-go/*_test.go", regexp.MustCompile(`(?m)^func (Test\w+)`), func(_, name string) string { return name },
		"servicebus-go/go.mod", regexp.MustCompile(`azservicebus v(.*)`),
	},
}

func dotted(file, name string) string { return file + "." + name }

// TestSamplesOfServiceBus checks that the cases exist which the page of samples names, and that it has the
// versions of the SDKs.
func TestSamplesOfServiceBus(t *testing.T) {
	const page = "docs/reference/service-bus-samples.md"
	const tests = "test/api/conformance/"
	head, rest, _ := strings.Cut(read(t, page), "\n## ")
	quoted := regexp.MustCompile("`([^`]+)`")
	checked := 0
	for section := range strings.SplitSeq(rest, "\n## ") {
		sdk, text, _ := strings.Cut(section, "\n")
		s, ok := suites[sdk]
		if !ok {
			continue
		}
		var exist []string
		for _, name := range tracked(t, tests+s.cases) {
			file := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
			found := s.defined.FindAllStringSubmatch(read(t, name), -1)
			if len(found) > 0 {
				exist = append(exist, file)
			}
			for _, m := range found {
				exist = append(exist, s.of(file, m[1]))
			}
		}
		for line := range strings.Lines(text) {
			cells := strings.Split(strings.TrimSpace(line), " | ")
			if len(cells) < 2 {
				continue
			}
			for _, m := range quoted.FindAllStringSubmatch(cells[len(cells)-1], -1) {
				if checked++; !slices.Contains(exist, m[1]) {
					t.Errorf("%s names %s, which is no case of %s", page, m[1], sdk)
				}
			}
		}
		pinned := s.version.FindStringSubmatch(read(t, tests+s.pinned))
		if pinned == nil || !strings.Contains(head, "| "+strings.TrimSpace(pinned[1])+" |") {
			t.Errorf("%s has no version %q of the SDK for %s", page, pinned, sdk)
		}
	}
	if checked < 200 {
		t.Errorf("%d cases were checked: the headings or tables are not as expected", checked)
	}
}
