package arguments

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

// Input is the standard input of a command. A read that waits, for somebody to type or for the
// other end of a pipe, ends with the command's context: else the signal that ends that, as
// Ctrl-C at a question, would seem to do nothing.
func Input(cmd *cobra.Command) io.Reader { return &input{ctx: cmd.Context(), from: cmd.InOrStdin()} }

type input struct {
	ctx  context.Context //nolint:containedctx // an io.Reader has no other
	from io.Reader
}

// Read reads. What waits when the context ends goes on until the process does.
func (i *input) Read(p []byte) (int, error) {
	type piece struct {
		content []byte
		err     error
	}
	arrived := make(chan piece, 1) // nobody may be left to take it
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
