package codec

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
)

// TestGoldenCommands compares each command, with all fields and with none, with its stored bytes.
// After a release these never change: a command with other bytes or another meaning gets a new
// version or number.
func TestGoldenCommands(t *testing.T) {
	for number, cmd := range everyCommand() {
		c, err := codecOf(cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.name, func(t *testing.T) {
			var text strings.Builder
			full := filledCommand(t, fsmtest.Distinct(), cmd)
			fmt.Fprintf(&text, "number %d version %d\n", number, c.version)
			fmt.Fprintf(&text, "full %x\n", mustFrame(t, full))
			fmt.Fprintf(&text, "empty %x\n", mustFrame(t, cmd))
			want := fsmtest.Golden(t, filepath.Join("testdata", "commands", snakeCase(c.name)+".golden"), []byte(text.String()))
			if diff := cmp.Diff(string(want), text.String()); diff != "" {
				t.Errorf("(-golden +now):\n%s", diff)
			}
			for line := range strings.SplitSeq(string(want), "\n") {
				name, digits, _ := strings.Cut(line, " ")
				expected := map[string]queue.Command{"full": full, "empty": cmd}[name]
				if expected == nil {
					continue
				}
				frame, err := hex.DecodeString(digits)
				if err != nil {
					t.Fatal(err)
				}
				got, err := DecodeCommand(frame)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(expected, got); diff != "" {
					t.Errorf("the %s golden bytes mean something else (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func snakeCase(name string) string {
	var out strings.Builder
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				out.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		out.WriteRune(c)
	}
	return out.String()
}
