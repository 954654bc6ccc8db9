package forward

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
)

// A backup goes from the node that got it to the leader on a connection of its
// own: pieces of length (4 bytes) and as many bytes, a length of zero, then the
// answer as JSON. A connection that breaks before the zero restores nothing.
const (
	backupPieceMax = 1 << 20
	// backupIdleTimeout is how long either end may be silent while a backup is sent.
	backupIdleTimeout = 30 * time.Second
)

// refusalTimeout is how long an answer may take that comes before the whole backup is
// sent.
const refusalTimeout = 5 * time.Second

// SendBackup sends a backup to the leader over conn, which it closes, and decodes
// the answer. When it returns, nothing more is read from backup. The error is
// ErrOutcomeUnknown if all was sent and no answer came.
func SendBackup(ctx context.Context, conn net.Conn, backup io.Reader, answer any) error {
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
			time.AfterFunc(refusalTimeout, func() { conn.Close() })
		}
		sent <- errors.Join(reading, writing)
	}()
	err := json.NewDecoder(conn).Decode(answer)
	conn.Close()
	sending := <-sent
	switch {
	case err == nil:
		return nil
	case sending != nil:
		return fmt.Errorf("passing the backup on to the leader: %w", sending)
	default:
		return fmt.Errorf("%w: waiting for the leader to restore: %w", fault.ErrOutcomeUnknown, err)
	}
}

// sendPieces sends a backup. It returns the errors of reading the backup and of writing
// to the connection.
func sendPieces(conn net.Conn, backup io.Reader) (reading, writing error) {
	idle := time.AfterFunc(backupIdleTimeout, func() { conn.Close() })
	defer idle.Stop()
	piece := make([]byte, 4+backupPieceMax)
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
		idle.Reset(backupIdleTimeout)
		if _, err := conn.Write(content); err != nil || last {
			return nil, err
		}
	}
}

// ReceiveBackup calls restore with the backup that SendBackup sends over conn, which
// it closes, and sends the answer. restore need not read all of it.
func ReceiveBackup(ctx context.Context, conn net.Conn, restore func(backup io.Reader) (answer any)) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	idle := time.AfterFunc(backupIdleTimeout, func() { conn.Close() })
	answer := restore(&pieceReader{source: bufio.NewReader(conn), idle: idle})
	idle.Stop()
	if json.NewEncoder(conn).Encode(answer) != nil {
		return // the other end sees a broken connection
	}
	// Read what is still sent until the other end has read the answer and closes. If
	// this end closed first, the connection would be reset and the answer lost.
	stopWaiting := time.AfterFunc(refusalTimeout, func() { conn.Close() })
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
		if p.idle.Reset(backupIdleTimeout); p.left == 0 {
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
