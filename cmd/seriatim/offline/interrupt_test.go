package offline

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Ctrl-C at the question for the node id ends the command, and no second one is needed.
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

// The verification of a large backup takes long, and ends when somebody has seen enough.
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
