package sqs

import (
	"strings"
	"testing"
)

func FuzzTaskHandle(f *testing.F) {
	f.Add("eyJ0YXNrSWQiOiJ4Iiwic291cmNlQXJuIjoiYXJuOmF3czpzcXM6dXMtZWFzdC0xOjA6cSJ9")
	f.Add("foobar")
	s := &Service{Options: Options{Names: testNames}}
	f.Fuzz(func(t *testing.T, text string) {
		task, source, ok := parseTaskHandle(text)
		if !ok || strings.Contains(source, ":") {
			return
		}
		again, from, ok := parseTaskHandle(s.taskHandle(task, source))
		if !ok || again != task || from != source {
			t.Fatalf("%q: got %q %q %v, want %q %q", text, again, from, ok, task, source)
		}
	})
}
