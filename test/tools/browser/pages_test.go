package browser

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pagesMax bounds the walk. The fixture has fewer pages.
const pagesMax = 500

// TestPages walks every page of the console in each variant.
func TestPages(t *testing.T) {
	c := startCluster(t)
	root := "http://" + c.Nodes[0].Admin
	pages := crawl(t, root)
	t.Logf("%d pages", len(pages))
	var admins []string
	for _, n := range c.Nodes {
		admins = append(admins, n.Admin)
	}
	b := newTab(t, admins...)
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			b.look(t, v)
			for _, page := range pages {
				b.open(t, root+page)
				for _, found := range b.audit(t) {
					for _, node := range found.Nodes {
						t.Errorf("%s: %s (%s)\n%s\n%s", page, found.Help, found.ID, node.HTML, node.Summary)
					}
				}
				if pixels := b.overflow(t); pixels > 0 {
					t.Errorf("%s: the page is %d pixels wider than the window", page, pixels)
				}
				for _, problem := range b.take() {
					t.Errorf("%s: %s", page, problem)
				}
				b.picture(t, page, v)
			}
		})
	}
}

var link = regexp.MustCompile(`\s(?:href|src|hx-get)="([^"]*)"`)

// crawl follows all links from the start page and returns the pages: one of those that differ only
// in their parameters. A link that does not answer with 200 fails the test.
func crawl(t *testing.T, root string) (pages []string) {
	t.Helper()
	seen, known := map[string]bool{"/": true}, map[string]bool{}
	for waiting := []string{"/"}; len(waiting) > 0; waiting = waiting[1:] {
		if len(seen) > pagesMax {
			t.Fatalf("the console has more than %d pages: %v", pagesMax, waiting)
		}
		kind, text := get(t, root+waiting[0])
		if !strings.HasPrefix(kind, "text/html") {
			continue
		}
		if path, _, _ := strings.Cut(waiting[0], "?"); !known[path] && strings.Contains(text, "<html") {
			known[path] = true
			pages = append(pages, waiting[0])
		}
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if next := local(t, waiting[0], found[1]); next != "" && !seen[next] && strings.Count(next, "=") <= 1 {
				seen[next] = true
				waiting = append(waiting, next)
			}
		}
	}
	slices.Sort(pages)
	return pages
}

// local returns the target of a link on a page, empty if it leads elsewhere.
func local(t *testing.T, page, target string) string {
	t.Helper()
	base, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	u, err := base.Parse(strings.ReplaceAll(target, "&amp;", "&"))
	if err != nil {
		t.Errorf("%s: %q is not a link: %v", page, target, err)
		return ""
	}
	if u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/v1/") {
		return ""
	}
	u.Fragment = ""
	return u.String()
}

func get(t *testing.T, address string) (kind, text string) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s\n%s", address, response.Status, body[:min(len(body), 300)])
	}
	return response.Header.Get("Content-Type"), string(body)
}

// picture keeps a picture of the page in the folder PICTURES.
func (b *tab) picture(t *testing.T, page string, v variant) {
	t.Helper()
	folder := os.Getenv("PICTURES")
	if folder == "" {
		return
	}
	var picture []byte
	b.run(t, chromedp.FullScreenshot(&picture, 100))
	name := strings.Trim(regexp.MustCompile(`[^A-Za-z0-9.]+`).ReplaceAllString(page, "-"), "-")
	if name == "" {
		name = "start"
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+"-"+v.String()+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}
