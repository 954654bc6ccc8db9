package arguments

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestInput: the reader returns all of the input, and a wait for more ends with the context.
func TestInput(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	read := func(in io.Reader) (string, error) {
		var text []byte
		var err error
		c := &cobra.Command{Use: "ask", RunE: func(cmd *cobra.Command, _ []string) error {
			text, err = io.ReadAll(Input(cmd))
			return nil
		}}
		c.SetIn(in)
		c.SetArgs([]string{})
		failed := c.ExecuteContext(ctx)
		return string(text), errors.Join(failed, err)
	}
	long := strings.Repeat("line\n", 10_000)
	if text, err := read(strings.NewReader(long)); text != long || err != nil {
		t.Errorf("%d bytes of %d, %v", len(text), len(long), err)
	}
	reader, writer := io.Pipe()
	defer writer.Close()
	go func() {
		_, _ = io.WriteString(writer, "half")
		interrupt()
	}()
	if _, err := read(reader); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
