package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// restoreAnswer is what the leader says to a forwarded restore.
type restoreAnswer struct {
	Restored Restored `json:"restored"`
	Kind     string   `json:"kind,omitempty"` // of the error
	Error    string   `json:"error,omitempty"`
}

// restoreKinds are the errors that keep their meaning on the way.
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
	{"votesMissing", ErrVotesMissing},
}

// remoteError has the text of another node and the meaning of kind.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// restoreOptionsMark begins what is sent to the leader if there are options, as a line of JSON.
// No backup begins so. A leader whose program does not know it refuses a bad backup.
const restoreOptionsMark = "restore-options "

// restoreOptionsMax bounds that line.
const restoreOptionsMax = 64 << 10

// withOptions puts options before a backup.
func withOptions(backup io.Reader, options RestoreOptions) (io.Reader, error) {
	if options == (RestoreOptions{}) {
		return backup, nil
	}
	text, err := json.Marshal(options)
	return io.MultiReader(strings.NewReader(restoreOptionsMark+string(text)+"\n"), backup), err
}

// cutOptions is the inverse of withOptions.
func cutOptions(backup io.Reader) (_ io.Reader, options RestoreOptions, err error) {
	buffered := bufio.NewReaderSize(backup, restoreOptionsMax)
	start, _ := buffered.Peek(len(restoreOptionsMark)) // what is too short is no backup, either
	if string(start) != restoreOptionsMark {
		return buffered, options, nil
	}
	line, err := buffered.ReadSlice('\n')
	if err != nil {
		return nil, options, fmt.Errorf("%w: the options before it: %w", ErrBadBackup, err)
	}
	return buffered, options, json.Unmarshal(line[len(restoreOptionsMark):], &options)
}

// forwardRestore sends the backup to the leader and waits for its answer.
func (n *Node) forwardRestore(ctx context.Context, leader string, backup io.Reader, options RestoreOptions) (Restored, error) {
	backup, err := withOptions(backup, options)
	if err != nil {
		return Restored{}, err
	}
	conn, err := n.process.network.Dial(ctx, leader, peernet.KindRestore, 0)
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

// serveRestores takes forwarded backups, one at a time, until the node ends.
func (n *Node) serveRestores(listener net.Listener) {
	stop := context.AfterFunc(n.life, func() { _ = listener.Close() }) // it ends Accept
	defer stop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		forward.ReceiveBackup(n.closing, conn, n.answerRestore)
	}
}

// answerRestore restores a forwarded backup.
func (n *Node) answerRestore(backup io.Reader) any {
	var answer restoreAnswer
	var err error
	if !n.group.Leadership().Self {
		err = fault.ErrNotLeader
	} else {
		var options RestoreOptions
		if backup, options, err = cutOptions(backup); err == nil {
			answer.Restored, err = n.restoreHere(n.closing, backup, options)
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
