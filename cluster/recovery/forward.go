package recovery

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// restoreAnswer is the leader's answer to a forwarded restore.
type restoreAnswer struct {
	Restored Restored `json:"restored"`
	Kind     string   `json:"kind,omitempty"` // of the error
	Error    string   `json:"error,omitempty"`
}

// restoreKinds are the errors that keep their meaning between nodes.
var restoreKinds = [...]struct {
	kind string
	err  error
}{
	{"notFresh", ErrNotFresh},
	{"badBackup", ErrBadBackup},
	{"sealed", ErrSealed},
	{"membersAway", ErrMembersAway},
	{"notLeader", fault.ErrNotLeader},
	{"unavailable", fault.ErrUnavailable},
	{"votesMissing", consensus.ErrVotesMissing},
}

// remoteError has the text from another node and the meaning of kind.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// restoreOptionsMark begins a line of JSON with the options, before the backup. No backup
// begins with it.
const restoreOptionsMark = "restore-options "

// restoreOptionsMax bounds that line.
const restoreOptionsMax = 64 << 10

// withOptions puts a line with the options before a backup, if there are any.
func withOptions(backup io.Reader, options RestoreOptions) (io.Reader, error) {
	if options == (RestoreOptions{}) {
		return backup, nil
	}
	text, err := json.Marshal(options)
	return io.MultiReader(strings.NewReader(restoreOptionsMark+string(text)+"\n"), backup), err
}

// cutOptions reads the options and returns the backup behind them.
func cutOptions(backup io.Reader) (_ io.Reader, options RestoreOptions, err error) {
	buffered := bufio.NewReaderSize(backup, restoreOptionsMax)
	start, _ := buffered.Peek(len(restoreOptionsMark)) // an error means that the backup is shorter
	if string(start) != restoreOptionsMark {
		return buffered, options, nil
	}
	line, err := buffered.ReadSlice('\n')
	if err != nil {
		return nil, options, fmt.Errorf("%w: the options before it: %w", ErrBadBackup, err)
	}
	return buffered, options, json.Unmarshal(line[len(restoreOptionsMark):], &options)
}

// forward sends the backup to the leader and waits for its answer.
func (s *Service) forward(ctx context.Context, leader string, backup io.Reader, options RestoreOptions) (Restored, error) {
	backup, err := withOptions(backup, options)
	if err != nil {
		return Restored{}, err
	}
	conn, err := s.Network.Dial(ctx, leader, peernet.KindRestore, 0)
	if err != nil {
		return Restored{}, fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
	}
	var answer restoreAnswer
	if err := forward.SendBackup(ctx, conn, backup, &answer); err != nil {
		return Restored{}, err
	}
	if answer.Error == "" {
		return answer.Restored, nil
	}
	failed := &remoteError{text: answer.Error, kind: fault.ErrOutcomeUnknown}
	for _, k := range restoreKinds {
		if k.kind == answer.Kind {
			failed.kind = k.err
		}
	}
	return Restored{}, failed
}

// Serve restores forwarded backups, one at a time, until the node ends.
func (s *Service) Serve(listener net.Listener) {
	stop := context.AfterFunc(s.Life, func() { _ = listener.Close() }) // it ends Accept
	defer stop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		forward.ReceiveBackup(s.Closing, conn, s.answer)
	}
}

// answer restores a forwarded backup.
func (s *Service) answer(backup io.Reader) any {
	var answer restoreAnswer
	var err error
	if !s.Group.Leadership().Self {
		err = fault.ErrNotLeader
	} else {
		var options RestoreOptions
		if backup, options, err = cutOptions(backup); err == nil {
			answer.Restored, err = s.restoreHere(s.Closing, backup, options)
		}
	}
	if err != nil {
		answer.Error = err.Error()
		for _, k := range restoreKinds {
			if errors.Is(err, k.err) {
				answer.Kind = k.kind
			}
		}
	}
	return answer
}
