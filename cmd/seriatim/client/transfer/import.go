package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/atomicfile"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// saveInterval is the time between two writes of the state file.
const saveInterval = time.Second

// Import sends the lines of a file to a queue.
type Import struct {
	Queue string
	NewID bool // gives each message a deduplication id of its own
	Pace  *Pace
	In    io.Reader
	// StateFile stores which lines were answered; empty: none is kept, as for standard input.
	StateFile string
	// Refused is called for each line that a rule refused.
	Refused func(line int64, err error)
	// Report is called with the number of answered lines, including those of earlier runs.
	Report func(int64)

	state state
	saved time.Time
}

// state tells which lines of a file were answered.
type state struct {
	Queue string  `json:"queue"`
	Lines int64   `json:"lines"`          // all up to this one
	Also  []int64 `json:"also,omitempty"` // and these, in order
}

// StateName returns the name of the state file beside a file.
func StateName(file, queue string) string {
	return file + "." + strings.NewReplacer("/", "-", ":", "-").Replace(queue) + ".importing"
}

// Load reads the state of an interrupted import and returns the number of lines to skip.
func (i *Import) Load() (lines int64, err error) {
	i.state = state{Queue: i.Queue}
	if i.StateFile == "" {
		return 0, nil
	}
	text, err := os.ReadFile(i.StateFile)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &i.state)
	}
	if err == nil && i.state.Queue != i.Queue {
		err = fmt.Errorf("it is about the queue %q", i.state.Queue)
	}
	if err != nil {
		return 0, exit.New(exit.Usage, fmt.Errorf("%s: %w", i.StateFile, err), "remove the file to import from the beginning")
	}
	return i.state.Lines, nil
}

// Run imports the lines. At the end it removes the state file, and after an error it writes it. It
// sends nothing if the state file cannot be written.
func (i *Import) Run(ctx context.Context, n *native.Conn) (Outcome, error) {
	if err := i.save(); err != nil {
		return Outcome{}, exit.New(exit.Usage, fmt.Errorf("keep the state of the import: %w", err),
			"copy the file to a folder that you may write to, or give it on standard input")
	}
	in, earlier, i0 := newLines(i.In), slices.Clone(i.state.Also), i.state.Lines
	var broken error
	feed := &Feed{
		Queue: i.Queue, Pace: i.Pace,
		Next: func() (*Outgoing, error) { return i.read(in, i0, earlier) },
		Done: func(o *Outgoing, refusal error) {
			if refusal != nil {
				i.Refused(o.Number, refusal)
			}
			i.state.answered(o.Number)
			if now := time.Now(); now.Sub(i.saved) >= saveInterval {
				i.saved = now
				broken = errors.Join(broken, i.save())
			}
		},
		Report: func(answered int64) { i.Report(i0 + int64(len(earlier)) + answered) },
	}
	out, err := feed.Run(ctx, n)
	if err != nil {
		return out, errors.Join(err, i.save())
	}
	if broken != nil {
		return out, broken
	}
	if i.StateFile != "" {
		if err := os.Remove(i.StateFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return out, err
		}
	}
	return out, nil
}

// read returns the next line that no earlier run sent.
func (i *Import) read(in *lines, skip int64, also []int64) (*Outgoing, error) {
	for {
		line, _, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, exit.New(exit.Usage, err, "")
		}
		if _, done := slices.BinarySearch(also, in.number); done || in.number <= skip {
			continue
		}
		r, err := parse(line)
		if err != nil {
			return nil, exit.New(exit.Usage, fmt.Errorf("line %d: %w", in.number, err), "correct the line, then run the import again")
		}
		return &Outgoing{Message: r.message(IsFIFO(i.Queue), i.NewID, in.number), Number: in.number}, nil
	}
}

// answered adds a line. Lines come in order, except that those before an unanswered one are missing.
func (s *state) answered(line int64) {
	if line != s.Lines+1 {
		if at, found := slices.BinarySearch(s.Also, line); !found {
			s.Also = slices.Insert(s.Also, at, line)
		}
		return
	}
	s.Lines = line
	for len(s.Also) > 0 && s.Also[0] == s.Lines+1 {
		s.Lines, s.Also = s.Also[0], s.Also[1:]
	}
}

func (i *Import) save() error {
	if i.StateFile == "" {
		return nil
	}
	text, err := json.Marshal(i.state)
	if err != nil {
		return err
	}
	return atomicfile.Replace(i.StateFile, append(text, '\n'), 0o600)
}
