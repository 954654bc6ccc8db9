package storage

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft-wal/fs"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

const spareSize = 2*sparePiece + 500

func spareLogFiles(t *testing.T, dir string) logFiles {
	t.Helper()
	spare, err := newSpareFile(dir, spareSize)
	clustertest.Must(t, err)
	t.Cleanup(func() {
		clustertest.Check(t, spare.close())
	})
	return logFiles{fs.New(), spare}
}

// The second file of a log is the spare file that was made while the first filled: it needs no more
// zeros.
func TestSpareFile(t *testing.T) {
	dir := t.TempDir()
	l := spareLogFiles(t, dir)
	first, err := l.Create(dir, "1", spareSize)
	clustertest.Must(t, err)
	defer first.Close()
	clustertest.Must(t, clustertest.Err(first.WriteAt(make([]byte, spareSize/spareBegins), 0)))
	if l.spare.begun {
		t.Fatal("a spare file is made before it may be needed")
	}
	clustertest.Must(t, clustertest.Err(first.WriteAt([]byte("more"), spareSize/spareBegins)))
	l.spare.making.Wait()
	content, err := os.ReadFile(filepath.Join(dir, spareName))
	if err != nil || len(content) != spareSize || !bytes.Equal(content, make([]byte, spareSize)) {
		t.Fatalf("the spare file has %d bytes, zeros: %v, %v", len(content), bytes.Equal(content, make([]byte, spareSize)), err)
	}
	second, err := l.Create(dir, "2", spareSize)
	clustertest.Must(t, err)
	defer second.Close()
	if got := second.(*logFile).zeroed; got != spareSize {
		t.Errorf("%d bytes of the second file are zeroed, want all", got)
	}
	if _, err := os.Stat(filepath.Join(dir, spareName)); !os.IsNotExist(err) {
		t.Errorf("the spare file is there still: %v", err)
	}
	for range 2 { // the second sync covers only the data
		clustertest.Must(t, clustertest.Err(second.WriteAt([]byte("appended"), 0)))
		clustertest.Must(t, second.Sync())
	}
	got := make([]byte, 8)
	reader, err := l.OpenReader(dir, "2")
	clustertest.Must(t, err)
	defer reader.Close()
	if _, err := reader.ReadAt(got, 0); err != nil && !errors.Is(err, io.EOF) || string(got) != "appended" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := l.Create(dir, "2", spareSize); err == nil {
		t.Error("a file took the name of another")
	}
}

// A spare file of an earlier process is not used: after a power cut its name may refer to a file of
// the log.
func TestSpareFileOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	clustertest.Must(t, os.WriteFile(filepath.Join(dir, spareName), bytes.Repeat([]byte("entry"), spareSize/5), 0o600))
	l := spareLogFiles(t, dir)
	if file, err := l.spare.claim("1", spareSize); file != nil || err != nil {
		t.Fatalf("took a file that is not its own: %v, %v", file, err)
	}
	if _, err := os.Stat(filepath.Join(dir, spareName)); !os.IsNotExist(err) {
		t.Errorf("it is there still: %v", err)
	}
}

// Without a spare file, or with one of another size, the log continues without it.
func TestNoSpareFile(t *testing.T) {
	dir := t.TempDir()
	l := spareLogFiles(t, dir)
	clustertest.Must(t, os.Mkdir(filepath.Join(dir, spareName), 0o700))
	l.spare.prepare()
	l.spare.making.Wait()
	if file, err := l.Create(dir, "1", spareSize); err != nil || file.(*logFile).zeroed != 0 {
		t.Errorf("a log that cannot have a spare file: %v, %v", file, err)
	}
	clustertest.Must(t, os.Remove(filepath.Join(dir, spareName)))
	l.spare.prepare()
	l.spare.making.Wait()
	if file, err := l.Create(dir, "2", spareSize+1); err != nil || file.(*logFile).zeroed != 0 {
		t.Errorf("a file of another size: %v, %v", file, err)
	}
}

// A log that is closed while its spare file is being made leaves none.
func TestSpareFileOfClosedLog(t *testing.T) {
	dir := t.TempDir()
	for range 20 {
		spare, err := newSpareFile(dir, spareSize)
		clustertest.Must(t, err)
		spare.prepare()
		clustertest.Must(t, spare.close())
		if _, err := os.Stat(spare.path()); !os.IsNotExist(err) {
			t.Fatalf("the spare file was left: %v", err)
		}
		spare.prepare()
		if spare.making.Wait(); spare.ready {
			t.Error("a closed log made a spare file")
		}
	}
}

// Large appends make no spare file: the disk would write twice as much.
func TestNoSpareFileForLargeAppends(t *testing.T) {
	dir := t.TempDir()
	l := spareLogFiles(t, dir)
	file, err := l.Create(dir, "1", spareSize)
	clustertest.Must(t, err)
	defer file.Close()
	clustertest.Must(t, clustertest.Err(file.WriteAt(make([]byte, spareFor+1), 0)))
	if l.spare.making.Wait(); l.spare.begun {
		t.Error("a spare file is made")
	}
}
