package cluster

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// A backup goes from the node that got it to the leader on a connection of its
// own: pieces of length (4 bytes) and as many bytes, a length of zero, then the
// answer as JSON. A connection that breaks before the zero restores nothing.
const (
	restorePieceMax = 1 << 20
	// restoreIdleMax is how long either end may be silent while a
	// backup is sent.
	restoreIdleMax = 30 * time.Second
)

// refusalPatience is how long an answer may take that comes before the whole backup is
// sent.
const refusalPatience = 5 * time.Second

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

// forwardRestore sends the backup to the leader and waits for its answer.
func (n *Node) forwardRestore(ctx context.Context, leader string, backup io.Reader) (Restored, error) {
	conn, err := n.process.network.Dial(ctx, leader, peernet.KindRestore, 0)
	if err != nil {
		return Restored{}, fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	// The leader may refuse before all is sent. Then the sending ends with the
	// connection, and must end before backup goes back to the caller.
	sent := make(chan error, 1)
	go func() {
		reading, writing := sendPieces(conn, backup)
		if reading != nil {
			conn.Close()
		} else if writing != nil { // an answer may be on its way
			time.AfterFunc(refusalPatience, func() { conn.Close() })
		}
		sent <- errors.Join(reading, writing)
	}()
	var answer restoreAnswer
	err = json.NewDecoder(conn).Decode(&answer)
	conn.Close()
	if sending := <-sent; err != nil && sending != nil {
		return Restored{}, fmt.Errorf("passing the backup on to the leader: %w", sending)
	}
	if err != nil {
		return Restored{}, fmt.Errorf("%w: waiting for the leader to restore: %w", fault.ErrOutcomeUnknown, err)
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

// sendPieces sends a backup. It returns the errors of reading the backup and of writing
// to the connection.
func sendPieces(conn net.Conn, backup io.Reader) (reading, writing error) {
	idle := time.AfterFunc(restoreIdleMax, func() { conn.Close() })
	defer idle.Stop()
	piece := make([]byte, 4+restorePieceMax)
	for {
		count, err := io.ReadFull(backup, piece[4:])
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err, nil
		}
		binary.BigEndian.PutUint32(piece, uint32(count))
		content := piece[:4+count]
		if last && count > 0 {
			content = append(content, 0, 0, 0, 0)
		}
		idle.Reset(restoreIdleMax)
		if _, err := conn.Write(content); err != nil || last {
			return nil, err
		}
	}
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
		n.serveRestore(conn)
	}
}

func (n *Node) serveRestore(conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(n.closing, func() { conn.Close() })
	defer stop()
	var answer restoreAnswer
	var err error
	if !n.group.Leadership().Self {
		err = fault.ErrNotLeader
	} else {
		idle := time.AfterFunc(restoreIdleMax, func() { conn.Close() })
		answer.Restored, err = n.restoreHere(n.closing, &pieceReader{source: bufio.NewReader(conn), idle: idle})
		idle.Stop()
	}
	if err != nil {
		answer.Error = err.Error()
		for _, k := range restoreKinds {
			if errors.Is(err, k.err) {
				answer.Kind = k.kind
			}
		}
	}
	if json.NewEncoder(conn).Encode(answer) != nil {
		return // the other end sees a broken connection
	}
	// Read what is still sent until the other end has read the answer and closes. If
	// this end closed first, the connection would be reset and the answer lost.
	stopWaiting := time.AfterFunc(refusalPatience, func() { conn.Close() })
	defer stopWaiting.Stop()
	_, _ = io.Copy(io.Discard, conn)
}

// pieceReader reads what sendPieces sent. Only a length of zero ends it.
type pieceReader struct {
	source *bufio.Reader
	idle   *time.Timer // closes the connection
	left   uint32
	ended  bool
}

// Read reads the content of pieces.
func (p *pieceReader) Read(content []byte) (int, error) {
	for p.left == 0 {
		if p.ended {
			return 0, io.EOF
		}
		if err := binary.Read(p.source, binary.BigEndian, &p.left); err != nil {
			return 0, fmt.Errorf("the backup broke off: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		if p.idle.Reset(restoreIdleMax); p.left == 0 {
			p.idle.Stop() // nothing more is waited for
			p.ended = true
		}
	}
	n, err := p.source.Read(content[:min(len(content), int(p.left))])
	p.left -= uint32(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
