package alerts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

const deploy = "../../../deploy"

// promtool builds the program once for all tests. Without the tag it would contain the
// clients of every cloud that Prometheus finds targets in.
func promtool(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "promtool")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "remove_all_sd", "-o", path, "github.com/prometheus/prometheus/cmd/promtool")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

func TestRules(t *testing.T) {
	t.Parallel()
	program := promtool(t)
	for _, arguments := range [][]string{
		{"check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml"},
		{"test", "rules", "alerts_test.yaml"},
	} {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir = filepath.Join(deploy, "prometheus")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
		t.Logf("promtool %s:\n%s", strings.Join(arguments, " "), out)
	}
}

// variables are what Grafana puts in the place of its variables.
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
