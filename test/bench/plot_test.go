package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wellFormed reads a drawing to its end.
func wellFormed(t *testing.T, drawing []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(drawing)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, drawing)
		}
	}
	for _, bad := range []string{"NaN", "Inf"} {
		if bytes.Contains(drawing, []byte(bad)) {
			t.Errorf("%s in\n%s", bad, drawing)
		}
	}
}

func TestDots(t *testing.T) {
	drawing := drawDots("a < b", "axis", []string{"p50", "p99"}, []dotRow{
		{"row & column", []runs{{1, 10, 100}, nil}, 50}, {"nothing", nil, 0}, {"zero", []runs{{0, 0}}, 0},
	})
	wellFormed(t, drawing)
	// The axis goes from 1 to 100, so the median 10 is in its middle.
	for _, want := range []string{"row &amp; column", "a &lt; b", `cx="535.0"`, `stroke="#c00"`} {
		if !strings.Contains(string(drawing), want) {
			t.Errorf("no %s in\n%s", want, drawing)
		}
	}
	wellFormed(t, drawDots("", "", nil, nil))
}

func TestBars(t *testing.T) {
	drawing := drawBars("heading", []panel{{"panel", []bar{{"full", runs{200}, ""}, {"half", runs{50, 100, 150}, ""}, {"none", nil, "not installed"}}}, {"empty", nil}})
	wellFormed(t, drawing)
	for _, want := range []string{`width="470.0"`, `width="235.0"`, "not installed"} {
		if !strings.Contains(string(drawing), want) {
			t.Errorf("no %s in\n%s", want, drawing)
		}
	}
}

const samplePeers = `{"at":"2026-01-02T03:04:05Z","loadBefore":0.1,"others":1,"seconds":5,"rounds":2,"bodyBytes":256,
"queues":[{"name":"seriatim","version":"1"},{"name":"Other","version":"2","durable":"two disks"},{"name":"Absent","problem":"not installed: apt-get install absent"}],
"workloads":[{"name":"1 client","ours":["send","--clients","1"]},{"name":"64 clients","ours":["send","--clients","64"]}],
"measured":[[{"runs":[{"rate":300,"p50Ms":1,"p99Ms":2,"serversUs":12.3,"machine":88},{"rate":100,"p50Ms":3,"p99Ms":4,"serversUs":11,"machine":77}]},{"runs":[{"rate":50,"p50Ms":5,"p99Ms":6}],"problem":"lost | gone"},{"runs":[]}],
[{"runs":[{"rate":9,"p50Ms":1,"p99Ms":2}]},{"runs":[],"problem":"refused"},{"runs":[]}]]}`

func TestPeersDocument(t *testing.T) {
	dir := t.TempDir()
	record, out := filepath.Join(dir, "results", "peers.json"), filepath.Join(dir, "PEERS.md")
	if err := writeDocument(record, []byte(samplePeers)); err != nil {
		t.Fatal(err)
	}
	if err := peersDocument(record, out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 1 client | 100 (100-300) | 50; **2.00**; 1 of 2 runs failed: lost / gone | not measured, see below |",
		"| 64 clients | 9 | failed: refused | not measured, see below |", "| 1 client | 1.00 (1.00-3.00) / 2.00 (2.00-4.00) |",
		"| Absent | not installed: apt-get install absent |", "![rates](results/peers.svg)", "2026-01-02 03:04 UTC", "BENCH_RUNS=2",
		"Other 2.00 -; Absent - -", "| 1 client | 11.0, 77 % | -, 0 % | not measured, see below |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	drawing, err := os.ReadFile(filepath.Join(dir, "results", "peers.svg"))
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, drawing)
}
