package output

import (
	"io"
	"os"
	"strings"
	"unicode"
)

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// WantsColour reports whether a writer is a terminal with colours whose user did not set NO_COLOR.
func WantsColour(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(w)
}

// Harmless replaces the characters of a cell that would move the cursor, begin a sequence of the
// terminal, or change the direction of the text. JSON output has the exact text.
func Harmless(cell string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, cell)
}

// Escape sequences of colours.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// colours are those of cells that consist of one of these words.
var colours = map[string]string{
	"ok": green, "healthy": green, "ready": green, "leader": green, "visible": green,
	"warning": yellow, "in flight": yellow, "delayed": yellow, "paused": yellow, "behind": yellow, "drained": yellow, "waiting": yellow,
	"failed": red, "critical": red, "blocked": red, "unreachable": red, "lost": red, "dead letter": red,
}

// Coloured returns a cell with its colour.
func Coloured(cell string, heading bool) string {
	if heading {
		return bold + cell + reset
	}
	if colour := colours[strings.ToLower(cell)]; colour != "" {
		return colour + cell + reset
	}
	return cell
}
