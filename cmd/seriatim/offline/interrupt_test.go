package offline

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// One Ctrl-C at the question for the node id ends the command.
func TestInterruptedWhileAsked(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	asked, typing := io.Pipe()
	c := &cobra.Command{Use: "ask", RunE: func(cmd *cobra.Command, _ []string) error { return confirm(cmd, "n1", "") }}
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs([]string{})
	c.SetIn(asked)
	c.SetErr(io.Discard)
	go func() {
		_, _ = io.WriteString(typing, "n") // until it is read
		interrupt()
		time.Sleep(2 * time.Second)
		_ = typing.Close()
	}()
	if err := c.ExecuteContext(ctx); exit.CodeOf(err) != exit.Interrupted {
		t.Errorf("exit code %d: %v", exit.CodeOf(err), err)
	}
}

// Ctrl-C ends the verification of a large backup.
func TestInterruptedVerification(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	c := backupVerifyCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs([]string{file})
	if err := c.ExecuteContext(ctx); exit.CodeOf(err) != exit.Interrupted {
		t.Errorf("exit code %d: %v", exit.CodeOf(err), err)
	}
}

// fading is a context that ends after a number of calls of Err.
type fading struct {
	context.Context
	left atomic.Int64
}

func (f *fading) Err() error {
	if f.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// After Ctrl-C the rows that were read are still printed.
func TestInterruptedLog(t *testing.T) {
	dir, _, _ := aNode(t, func(string) {})
	shown := false
	for left := range 30 {
		ctx := &fading{Context: t.Context()}
		ctx.left.Store(int64(left))
		var out strings.Builder
		c := logPrintCommand()
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs([]string{"--data-dir", dir})
		c.SetOut(&out)
		c.SetErr(io.Discard)
		if err := c.ExecuteContext(ctx); exit.CodeOf(err) == exit.Interrupted && strings.Count(out.String(), "\n") > 1 {
			shown = true
		}
	}
	if !shown {
		t.Error("nothing is printed of a log whose printing is ended")
	}
}
