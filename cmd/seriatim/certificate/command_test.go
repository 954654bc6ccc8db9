package certificate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// run runs a command of the group.
func run(args ...string) (out string, err error) {
	c := Command()
	c.SilenceErrors, c.SilenceUsage = true, true
	var text bytes.Buffer
	c.SetOut(&text)
	c.SetErr(&text)
	c.SetArgs(args)
	err = c.Execute()
	return text.String(), err
}

// A failure of the disk is not a wrong flag.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(file, "certs")
	for _, test := range []struct {
		args []string
		code exit.Code
	}{
		{[]string{"ca", "--dir", below}, exit.Failed},
		{[]string{"issue", "n1", "--dir", below}, exit.Failed},
		{[]string{"token", "anna", "--dir", below}, exit.Failed},
		{[]string{"bundle", "--dir", below}, exit.Failed},
		{[]string{"issue", "n1", "--dir", t.TempDir()}, exit.NotFound},
		{[]string{"issue"}, exit.Usage},
		{[]string{"ca", "--nonsense"}, exit.Usage},
	} {
		if _, err := run(test.args...); exit.CodeOf(err) != test.code {
			t.Errorf("%v: exit code %d, want %d: %v", test.args, exit.CodeOf(err), test.code, err)
		}
	}
}
