package service

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestUnauthenticatedCallsInTheAudit checks that the audit records some of the refused calls
// without a key and counts the others. All other audited calls are recorded.
func TestUnauthenticatedCallsInTheAudit(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	at := time.Unix(1_700_000_000, 0)
	m := &Calls{
		Logger: slog.New(slog.DiscardHandler), Audit: slog.New(slog.NewTextHandler(&written, nil)), Refusals: new(RefusalSample),
		Now: func() time.Time { return at },
	}
	report := func(n int, request Request) (lines string) {
		written.Reset()
		for range n {
			m.Report(t.Context(), &request)
		}
		return written.String()
	}
	refused := Request{Action: "DeleteQueue", Effect: Audited, Code: "MissingAuthenticationToken", Unauthenticated: true}
	for _, step := range []struct {
		request Request
		lines   int
		says    string
	}{
		{refused, 1, "left_out=0"},
		{refused, 0, ""},
		{Request{Action: "DeleteQueue", Effect: Audited, Code: "AccessDenied", Account: "AKIDEXAMPLE"}, 100, "AccessDenied"},
		{Request{Action: "AddTopicPermission", Effect: Audited, Account: "000000000000"}, 100, "AddTopicPermission"},
		{Request{Action: "RemoveTopicPermission", Effect: Audited, Account: "000000000000"}, 100, "RemoveTopicPermission"},
		{Request{Action: "GetQueueUrl", Effect: Reads, Code: "MissingAuthenticationToken", Unauthenticated: true}, 0, ""},
	} {
		if got := report(100, step.request); strings.Count(got, "\n") != step.lines || !strings.Contains(got, step.says) {
			t.Errorf("%+v: %d lines: %.200s", step.request, strings.Count(got, "\n"), got)
		}
	}
	at = at.Add(refusalInterval)
	if got := report(100, refused); strings.Count(got, "\n") != 1 || !strings.Contains(got, "left_out=199") {
		t.Errorf("after the pause: %.200s", got)
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	var s Sample
	at := time.Unix(1_700_000_000, 0)
	now := func() time.Time { return at }
	lines, stand := 0, 0
	for range 10_000 {
		if of := s.take(now); of > 0 {
			lines, stand = lines+1, stand+of
		}
	}
	if want := sampleAll + (10_000-sampleAll)/samplePart; lines != want || stand != 10_000 {
		t.Errorf("%d lines, want %d; they stand for %d of 10000 requests", lines, want, stand)
	}
	at = at.Add(time.Second)
	if of := s.take(now); of != 1 {
		t.Errorf("the first request of another second: %d", of)
	}
	if of := (*Sample)(nil).take(now); of != 1 {
		t.Errorf("without a sample: %d", of)
	}
}
