package forward

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
)

// connected returns both ends of a connection.
func connected(t *testing.T) (near, far net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	clustertest.Must(t, err)
	defer listener.Close()
	if near, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// received is the leader's answer in these tests.
type received struct {
	Bytes int
	Error string
}

// receiveAll answers with the size of the backup, or with the error of reading it.
func receiveAll(want []byte) func(io.Reader) any {
	return func(backup io.Reader) any {
		content, err := io.ReadAll(backup)
		if err != nil || !bytes.Equal(content, want) {
			return received{Bytes: len(content), Error: "it is not the backup"}
		}
		return received{Bytes: len(content)}
	}
}

func TestBackupArrives(t *testing.T) {
	for _, size := range []int{0, 1, backupPieceMax - 1, backupPieceMax, backupPieceMax + 1, 3*backupPieceMax + 7} {
		content := bytes.Repeat([]byte("backup!"), size/7+1)[:size]
		near, far := connected(t)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			ReceiveBackup(t.Context(), far, receiveAll(content))
		}()
		var answer received
		if err := SendBackup(t.Context(), near, bytes.NewReader(content), &answer); err != nil || answer != (received{Bytes: size}) {
			t.Errorf("%d bytes: %+v, %v", size, answer, err)
		}
		<-ended
	}
}

// endless is an infinite backup.
type endless struct{}

func (endless) Read(content []byte) (int, error) { return len(content), nil }

func TestBackupIsRefusedBeforeAllIsSent(t *testing.T) {
	near, far := connected(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ReceiveBackup(t.Context(), far, func(io.Reader) any { return received{Error: "not now"} })
	}()
	var answer received
	if err := SendBackup(t.Context(), near, endless{}, &answer); err != nil || answer.Error != "not now" {
		t.Errorf("%+v, %v", answer, err)
	}
	<-ended
}

// A read error of the sender does not end the backup. If the leader disappears after the end, the
// outcome is unknown.
func TestBackupBreaksOff(t *testing.T) {
	broken := errors.New("the disk is broken")
	near, far := connected(t)
	reading := make(chan error, 1)
	go ReceiveBackup(t.Context(), far, func(backup io.Reader) any {
		_, err := io.Copy(io.Discard, backup)
		reading <- err
		return received{}
	})
	half := io.MultiReader(bytes.NewReader(make([]byte, backupPieceMax)), errorReader{broken})
	if err := SendBackup(t.Context(), near, half, &received{}); !errors.Is(err, broken) || errors.Is(err, fault.ErrOutcomeUnknown) {
		t.Errorf("the sender got %v", err)
	}
	if err := <-reading; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the leader got %v", err)
	}

	near, far = connected(t)
	go func() {
		var length uint32
		for binary.Read(far, binary.BigEndian, &length) == nil && length > 0 {
			_, _ = io.CopyN(io.Discard, far, int64(length)) // an error also ends the next read
		}
		far.Close()
	}()
	if err := SendBackup(t.Context(), near, bytes.NewReader(make([]byte, 10)), &received{}); !errors.Is(err, fault.ErrOutcomeUnknown) {
		t.Errorf("without an answer: %v", err)
	}
}

// errorReader fails at once.
type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }
