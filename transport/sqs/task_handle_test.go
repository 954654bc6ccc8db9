package sqs

import "testing"

func FuzzTaskHandle(f *testing.F) {
	f.Add("eyJ0YXNrSWQiOiJ4Iiwic291cmNlQXJuIjoiYXJuOmF3czpzcXM6dXMtZWFzdC0xOjA6cSJ9")
	f.Add("foobar")
	f.Fuzz(func(t *testing.T, text string) {
		task, source, ok := parseTaskHandle(text)
		if !ok {
			return
		}
		again, from, ok := parseTaskHandle(TaskHandle(task, source))
		if !ok || again != task || from != source {
			t.Fatalf("%q: got %q %q %v, want %q %q", text, again, from, ok, task, source)
		}
	})
}
