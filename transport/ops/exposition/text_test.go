package exposition

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The Prometheus library parses what is written.
func TestText(t *testing.T) {
	t.Parallel()
	var text Text
	text.Family("a_seconds", Gauge, "One line,\nand a \\ another.")
	values := []float64{0, 1, -3, 0.25, 1e300, 1 << 52, math.Inf(1), math.Inf(-1), 1.0 / 3}
	name := "q\"\\\n"
	for i, v := range values {
		text.Series(Labels("queue", name, "state", string(rune('a'+i))), v)
	}
	text.Family("b_total", Counter, "Plain.")
	text.Series("", 7)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text.Bytes))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text.Bytes)
	}
	var got []float64
	for _, m := range families["a_seconds"].GetMetric() {
		if m.GetLabel()[0].GetValue() != name {
			t.Errorf("label %q", m.GetLabel()[0].GetValue())
		}
		got = append(got, m.GetGauge().GetValue())
	}
	if diff := cmp.Diff(values, got); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
	if help := families["a_seconds"].GetHelp(); help != "One line,\nand a \\ another." {
		t.Errorf("help %q", help)
	}
	if b := families["b_total"]; b.GetMetric()[0].GetCounter().GetValue() != 7 {
		t.Errorf("got %v", b)
	}
}
