package logcheck

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/test/oracle"
)

// describeMax limits the bodies in reports.
const describeMax = 600

func shown(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if len(text) > describeMax {
		text = text[:describeMax] + "..."
	}
	return text
}

// describeCommand shows the command of a line.
func describeCommand(l *line) string {
	command, err := codec.DecodeCommand(l.Command)
	if err != nil {
		return shown("command that cannot be decoded: %v", err)
	}
	return shown("%T%+v", command, command)
}

// describeAnswer shows the answer of a line.
func describeAnswer(l *line) string {
	answer, err := codec.DecodeResponse(l.Answer)
	switch {
	case err != nil:
		return shown("that cannot be decoded: %v", err)
	case answer.Err != nil:
		return shown("%s", oracle.Describe(answer.Err))
	}
	return shown("%+v", answer.Result)
}
