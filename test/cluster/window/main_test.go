package window

import (
	"os"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// binary is the server under test. Set once, before the first test.
var binary string

func TestMain(m *testing.M) { os.Exit(harness.WithBinary(&binary, m.Run)) }
