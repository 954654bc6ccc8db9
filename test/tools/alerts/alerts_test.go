package alerts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

const deploy = "../../../deploy"

// promtool builds the program once for all tests. The tag leaves out the clients of all clouds in
// which Prometheus can find targets.
var promtool = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "promtool")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "promtool")
	build := exec.Command("go", "build", "-tags", "remove_all_sd", "-o", path, "github.com/prometheus/prometheus/cmd/promtool")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := promtool(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// run runs promtool in the folder of the rules.
func run(t *testing.T, arguments ...string) {
	t.Helper()
	program, err := promtool()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = filepath.Join(deploy, "prometheus")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	t.Logf("promtool %s:\n%s", strings.Join(arguments, " "), out)
}

func TestRules(t *testing.T) {
	t.Parallel()
	run(t, "check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml")
	run(t, "test", "rules", "alerts_test.yaml")
}

// variables replaces variables of Grafana with values.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$namespace", "prod", "$job", "seriatim", "$queue", "orders.fifo")

func TestPanels(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(deploy, "grafana", "seriatim.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	parsed, language := 0, parser.NewParser(parser.Options{})
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			expr := variables.Replace(target.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s: an unknown variable in %s", p.Title, expr)
			}
			if _, err := language.ParseExpr(expr); err != nil {
				t.Errorf("%s: %v in %s", p.Title, err, expr)
			}
			parsed++
		}
	}
	if parsed < 25 {
		t.Errorf("%d expressions", parsed)
	}
}
