package storage

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft-wal/fs"
)

const spareSize = 2*sparePiece + 500

func spareLogFiles(t *testing.T, dir string) logFiles {
	t.Helper()
	spare, err := newSpareFile(dir, spareSize)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := spare.close(); err != nil {
			t.Error(err)
		}
	})
	return logFiles{fs.New(), spare}
}

// The second file of a log is the spare file that was made while the first filled: it needs no more
// zeros.
func TestSpareFile(t *testing.T) {
	dir := t.TempDir()
	l := spareLogFiles(t, dir)
	first, err := l.Create(dir, "1", spareSize)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := first.WriteAt(make([]byte, spareSize/spareBegins), 0); err != nil {
		t.Fatal(err)
	}
	if l.spare.begun {
		t.Fatal("a spare file is made before it may be needed")
	}
	if _, err := first.WriteAt([]byte("more"), spareSize/spareBegins); err != nil {
		t.Fatal(err)
	}
	l.spare.making.Wait()
	content, err := os.ReadFile(filepath.Join(dir, spareName))
	if err != nil || len(content) != spareSize || !bytes.Equal(content, make([]byte, spareSize)) {
		t.Fatalf("the spare file has %d bytes, zeros: %v, %v", len(content), bytes.Equal(content, make([]byte, spareSize)), err)
	}
	second, err := l.Create(dir, "2", spareSize)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got := second.(*logFile).zeroed; got != spareSize {
		t.Errorf("%d bytes of the second file are zeroed, want all", got)
	}
	if _, err := os.Stat(filepath.Join(dir, spareName)); !os.IsNotExist(err) {
		t.Errorf("the spare file is there still: %v", err)
	}
	for range 2 { // the second sync covers only the data
		if _, err := second.WriteAt([]byte("appended"), 0); err != nil {
			t.Fatal(err)
		}
		if err := second.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 8)
	reader, err := l.OpenReader(dir, "2")
	if err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(filepath.Join(dir, spareName), bytes.Repeat([]byte("entry"), spareSize/5), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err := os.Mkdir(filepath.Join(dir, spareName), 0o700); err != nil {
		t.Fatal(err)
	}
	l.spare.prepare()
	l.spare.making.Wait()
	if file, err := l.Create(dir, "1", spareSize); err != nil || file.(*logFile).zeroed != 0 {
		t.Errorf("a log that cannot have a spare file: %v, %v", file, err)
	}
	if err := os.Remove(filepath.Join(dir, spareName)); err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		spare.prepare()
		if err := spare.close(); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(make([]byte, spareFor+1), 0); err != nil {
		t.Fatal(err)
	}
	if l.spare.making.Wait(); l.spare.begun {
		t.Error("a spare file is made")
	}
}
