package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
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

// Target identifies a queue. A queue of the same name in another cluster, or made anew, has another.
type Target struct {
	ARN     string `json:"arn"`
	Created string `json:"created"` // CreatedTimestamp
}

// Import sends the lines of a file to a queue.
type Import struct {
	Queue  string
	Target Target // of Queue
	NewID  bool   // gives each message a deduplication id of its own
	Pace   *Pace
	In     io.Reader
	// StateFile stores which lines were answered; empty: none is kept, as for standard input.
	StateFile string
	// Refused is called for each line that a rule refused.
	Refused func(line int64, err error)
	// Report is called with the number of answered lines, including those of earlier runs.
	Report func(int64)

	state  state
	saved  time.Time
	digest digest // of the lines that were read
}

// digest is the hash of a line and the digest of the line before it.
type digest []byte

// add returns the digest of one more line.
func (d digest) add(line []byte) digest {
	h := sha256.New()
	_, _ = h.Write(d) // a hash never fails
	_, _ = h.Write(line)
	return h.Sum(nil)
}

// state tells which lines of a file were answered.
type state struct {
	Target Target  `json:"target"`
	Lines  int64   `json:"lines"`            // all up to this one
	Also   []int64 `json:"also,omitempty"`   // and these, in order
	Last   int64   `json:"last"`             // the last of them
	Digest digest  `json:"digest,omitempty"` // of the lines up to Last
}

// StateName returns the name of the state file beside a file.
func StateName(file, queue string) string {
	return file + "." + strings.NewReplacer("/", "-", ":", "-").Replace(queue) + ".importing"
}

// Load reads the state of an interrupted import of a file, and returns the number of lines to skip. It
// refuses the state of another queue, and that of a file whose answered lines have changed.
func (i *Import) Load(file io.ReadSeeker) (lines int64, err error) {
	i.state = state{Target: i.Target}
	text, err := os.ReadFile(i.StateFile)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &i.state)
	}
	if err == nil {
		err = i.check(file)
	}
	if err != nil {
		return 0, exit.New(exit.Usage, fmt.Errorf("%s: %w", i.StateFile, err),
			"it is the state of an interrupted import: add --restart to send all lines of the file from the beginning")
	}
	return i.state.Lines, nil
}

// check compares the loaded state with the queue and the file.
func (i *Import) check(file io.ReadSeeker) error {
	switch {
	case i.state.Target.ARN != i.Target.ARN:
		return fmt.Errorf("it is about the queue %s, and this one is %s", i.state.Target.ARN, i.Target.ARN)
	case i.state.Target != i.Target:
		return errors.New("it is about another queue of this name, which was created at another time")
	}
	in, found := newLines(file), digest(nil)
	for in.number < i.state.Last {
		line, _, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		found = found.add(line)
	}
	if !bytes.Equal(found, i.state.Digest) {
		return fmt.Errorf("the lines up to line %d are sent, and the file has other lines now", i.state.Last)
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// Run imports the lines, after Load if there is a state file. At the end it removes the state file, and
// after an error it writes it. It sends nothing if the state file cannot be written.
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
			i.state.answered(o.Number, o.digest)
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
		i.digest = i.digest.add(line)
		if _, done := slices.BinarySearch(also, in.number); done || in.number <= skip {
			continue
		}
		r, err := parse(line)
		if err != nil {
			return nil, exit.New(exit.Usage, fmt.Errorf("line %d: %w", in.number, err), "correct the line, then run the import again")
		}
		return &Outgoing{Message: r.message(IsFIFO(i.Queue), i.NewID, in.number), Number: in.number, digest: i.digest}, nil
	}
}

// answered adds a line. Lines come in order, except that those before an unanswered one are missing.
// sum is the digest of the lines up to this one.
func (s *state) answered(line int64, sum digest) {
	if line > s.Last {
		s.Last, s.Digest = line, sum
	}
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
