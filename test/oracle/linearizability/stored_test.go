package linearizability

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

var (
	storedFlag = flag.String("history", "", "file of a stored history to judge again")
	objectFlag = flag.String("object", "", "judge this queue only")
)

// TestStored judges a stored history.
func TestStored(t *testing.T) {
	if *storedFlag == "" {
		return
	}
	file, err := os.Open(*storedFlag)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	events, err := history.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Pictures: t.TempDir()}
	if *objectFlag != "" {
		o.Judged = func(queue string) bool { return queue == *objectFlag }
	}
	began := time.Now()
	r, err := Check(events, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d objects, %d calls in %v", r.Objects, r.Calls, time.Since(began).Round(time.Millisecond))
	for _, v := range r.Violations {
		t.Errorf("%s: %s", v.Queue, v.Text)
	}
	for _, u := range r.Unknown {
		t.Logf("unknown: %s", u)
	}
}
