package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// stepTimeout bounds one step of the browser on a busy machine.
const stepTimeout = 2 * time.Minute

// variant is a way to look at a page.
type variant struct {
	scheme string // light or dark
	width  int64
	height int64
}

// String returns the variant as part of a file name.
func (v variant) String() string { return fmt.Sprintf("%s-%d", v.scheme, v.width) }

var variants = []variant{{"light", 1440, 900}, {"dark", 1440, 900}, {"light", 390, 844}, {"dark", 390, 844}}

// tab is a page of the browser that collects what goes wrong in it.
type tab struct {
	ctx   context.Context
	hosts map[string]bool // that requests may go to

	mu       sync.Mutex
	problems []string
}

// newTab opens a browser with one page. hosts are the addresses that its requests may go to.
func newTab(t *testing.T, hosts ...string) *tab {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath("/usr/bin/chromium"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(stepTimeout))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil { // waits until the browser has ended
			t.Errorf("end Chromium: %v", err)
		}
		end()
	})
	b := &tab{ctx: ctx, hosts: map[string]bool{}}
	for _, host := range hosts {
		b.hosts[host] = true
	}
	chromedp.ListenTarget(ctx, b.listen)
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable()); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return b
}

func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problem("exception: %s", e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			b.problem("console: %s", e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			b.problem("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "data" && u.Scheme != "blob" && !b.hosts[u.Host] {
			b.problem("a request leaves the cluster: %s", e.Request.URL)
		}
	}
}

func (b *tab) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// take returns the problems since the last call.
func (b *tab) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.problems
	b.problems = nil
	return taken
}

// run executes steps.
func (b *tab) run(t *testing.T, steps ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTimeout)
	defer cancel()
	if err := chromedp.Run(ctx, steps...); err != nil {
		t.Fatalf("%v\nproblems: %s", err, strings.Join(b.take(), "\n"))
	}
}

// look emulates a variant.
func (b *tab) look(t *testing.T, v variant) {
	t.Helper()
	b.run(t, chromedp.EmulateViewport(v.width, v.height),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}}))
}

// open loads a page and waits until its scripts and its first refresh have run.
func (b *tab) open(t *testing.T, address string) {
	t.Helper()
	b.run(t, chromedp.Navigate(address), chromedp.WaitReady("main"))
}

// violation is a finding of axe-core.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// audit returns the findings of axe-core on the open page, levels A and AA.
func (b *tab) audit(t *testing.T) []violation {
	t.Helper()
	var found []violation
	b.run(t, chromedp.Evaluate(axe(t), nil), chromedp.Evaluate(
		`axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(r => r.violations)`, &found,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return found
}

// axe returns the source of axe-core.
var axe = func() func(t *testing.T) string {
	read := sync.OnceValues(func() ([]byte, error) { return os.ReadFile(os.Getenv("AXE")) })
	return func(t *testing.T) string {
		t.Helper()
		source, err := read()
		if err != nil {
			t.Fatalf("axe-core: %v; run make test-console, or set AXE to the path of axe.min.js", err)
		}
		return string(source) + "\n;undefined"
	}
}()

// overflow returns the number of pixels by which the page is wider than the window.
func (b *tab) overflow(t *testing.T) (pixels int) {
	t.Helper()
	b.run(t, chromedp.Evaluate(`Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)`, &pixels))
	return pixels
}
