package server

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// The log keeps its newest complete lines up to the limit.
func TestRecentLog(t *testing.T) {
	t.Parallel()
	var all, kept bytes.Buffer
	l := &recentLog{to: &all}
	for i := range 20_000 {
		if _, err := fmt.Fprintf(l, "line %d of the log\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.writeTo(&kept); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(all.String(), "\n"+kept.String()) || kept.Len() > recentBytes || kept.Len() < recentBytes-100 {
		t.Errorf("%d of %d bytes kept, or not the end", kept.Len(), all.Len())
	}
}
