package wire

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// Conn is one end of a connection. One goroutine writes and one reads.
//
// A request is a pointer to one of the library's: AppendEntriesRequest,
// RequestVoteRequest, RequestPreVoteRequest, InstallSnapshotRequest or
// TimeoutNowRequest. Its answer is a pointer to the response of that name. Answers
// come in the order of the requests.
type Conn interface {
	// Ask writes a request.
	Ask(request any) error
	// AskNow writes as much of a request as goes without waiting for the other end. What
	// is left rest writes, which is nil if that is nothing; until then the connection can
	// write nothing else.
	AskNow(request *raft.AppendEntriesRequest) (rest func() error, err error)
	// Asked reads one. It is io.EOF if the other end has closed the connection and
	// there is none.
	Asked() (request any, err error)
	// Waits reports whether one is here that Asked need not wait for.
	Waits() bool
	// Reply writes the answer to a request, or why there is none.
	Reply(answer any, failure error) error
	// Answer reads an answer. If there is none, the error is a Failure.
	Answer(into any) error
	// SendSnapshot writes what follows the request to install a snapshot.
	SendSnapshot(content io.Reader) error
	// Snapshot reads it.
	Snapshot(size int64) io.Reader
}

// Failure is why the other node has no answer to a request. The connection goes on.
type Failure string

// Error is what the other node said.
func (f Failure) Error() string { return string(f) }

// ErrDamaged is the error of what no node of this program has sent.
var ErrDamaged = errors.New("a message of another node is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// kind is what a frame carries. The numbers are part of the protocol between nodes
// and are never reused.
type kind uint8

const (
	kindAppendEntries   kind = 1
	kindRequestVote     kind = 2
	kindRequestPreVote  kind = 3
	kindInstallSnapshot kind = 4
	kindTimeoutNow      kind = 5

	// kindSnapshot is a part of a snapshot.
	kindSnapshot kind = 16
	// kindWanted asks for the next part of a snapshot, or for bodies that belong to it.
	kindWanted kind = 17
	// kindAnswer is an answer; the request says which.
	kindAnswer kind = 32
	// kindFailure says that there is no answer, and why.
	kindFailure kind = 33
)

// kindOf is the kind of a request; 0: it is none.
func kindOf(request any) kind {
	switch request.(type) {
	case *raft.AppendEntriesRequest:
		return kindAppendEntries
	case *raft.RequestVoteRequest:
		return kindRequestVote
	case *raft.RequestPreVoteRequest:
		return kindRequestPreVote
	case *raft.InstallSnapshotRequest:
		return kindInstallSnapshot
	case *raft.TimeoutNowRequest:
		return kindTimeoutNow
	}
	return 0
}
