package arguments

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

// Input returns the standard input of a command. A read that waits ends with the command's
// context: otherwise Ctrl-C at a question would have no visible effect.
func Input(cmd *cobra.Command) io.Reader { return &input{ctx: cmd.Context(), from: cmd.InOrStdin()} }

type input struct {
	ctx  context.Context //nolint:containedctx // an io.Reader has no other
	from io.Reader
}

// Read returns the context's error when the context ends. The read of the underlying file then
// continues in its goroutine until input comes or the process ends.
func (i *input) Read(p []byte) (int, error) {
	type piece struct {
		content []byte
		err     error
	}
	arrived := make(chan piece, 1) // so that the goroutine ends also without a receiver
	size := len(p)
	go func() {
		content := make([]byte, size)
		n, err := i.from.Read(content)
		arrived <- piece{content[:n], err}
	}()
	select {
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	case got := <-arrived:
		return copy(p, got.content), got.err
	}
}
