package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestWatch repeats a command until it is interrupted.
func TestWatch(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	endpoint := devNode(t)
	must(t, "queue", "create", "a.fifo", "--endpoint", endpoint)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	read, write := io.Pipe()
	ended := make(chan int, 1) // one result
	var words strings.Builder
	go func() {
		args := []string{"queue", "list", "--watch=100ms", "-o", "jsonl", "--endpoint", endpoint}
		code := run(ctx, args, strings.NewReader(""), write, &words)
		_ = write.Close() // closing the writer of a pipe cannot fail
		ended <- int(code)
	}()
	outputs := json.NewDecoder(read)
	for i := range 3 {
		var queue struct{ Name string }
		if err := outputs.Decode(&queue); err != nil || queue.Name != "a.fifo" {
			t.Fatalf("output %d: %v, %v", i, queue, err)
		}
	}
	interrupt()
	if _, err := io.Copy(io.Discard, read); err != nil {
		t.Error(err)
	}
	if code := <-ended; code != 130 {
		t.Errorf("exit code %d\n%s", code, words.String())
	}
	if out, code := tool(t, "queue", "list", "--watch=1ms", "--endpoint", endpoint); code != 2 || !strings.Contains(out, "too short") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
