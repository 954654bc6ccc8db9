package disk

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const testBytes = 64 << 20

// lab makes disks that end with the test.
func lab(t *testing.T, names ...string) *Lab {
	t.Helper()
	if err := Available(); err != nil {
		t.Skipf("this machine cannot mount file systems: %v", err)
	}
	dir := t.TempDir()
	l, err := New(dir, testBytes, names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if left, err := mountsBelow(dir); err != nil || len(left) > 0 {
			t.Errorf("still mounted: %v, %v", left, err)
		}
	})
	return l
}

func write(t *testing.T, path, text string, synced bool) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if synced {
		if err := file.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// awaitCanary returns when the canaries have something to lose.
func awaitCanary(t *testing.T, l *Lab) {
	t.Helper()
	for _, d := range l.Disks {
		for deadline := time.Now().Add(time.Minute); ; {
			if info, err := os.Stat(filepath.Join(d.Path, canaryName)); err == nil && info.Size() > canaryBlock {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the canary of %s writes nothing", d.Name)
			}
		}
	}
}

func TestPowerCutKeepsWhatWasSynced(t *testing.T) {
	l := lab(t, "n1", "n2", "n3")
	const text = "kept or lost"
	var victims []Powered
	killed := make([]bool, len(l.Disks))
	for i, d := range l.Disks {
		write(t, filepath.Join(d.Path, "synced"), text, true)
		write(t, filepath.Join(d.Path, "unsynced"), text, false)
		victims = append(victims, Powered{Disk: d, Kill: func() error { killed[i] = true; return nil }})
	}
	awaitCanary(t, l)
	loss, err := PowerCut(victims...)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range l.Disks {
		if got, err := os.ReadFile(filepath.Join(d.Path, "synced")); err != nil || string(got) != text {
			t.Errorf("%s: what was synced is %q, %v", d.Name, got, err)
		}
		if got, err := os.ReadFile(filepath.Join(d.Path, "unsynced")); err == nil && string(got) == text {
			t.Errorf("%s: what was not synced survived: the power was not cut", d.Name)
		}
		if !killed[i] {
			t.Errorf("%s: the process was not killed", d.Name)
		}
		write(t, filepath.Join(d.Path, "after"), text, true)
	}
	if loss.Canary == 0 || loss.Dirty == 0 {
		t.Errorf("nothing that was not synced was dropped: %+v", loss)
	}
	t.Logf("%+v", loss)
}

func TestGoneDiskFailsAndComesBack(t *testing.T) {
	l := lab(t, "n1")
	d := l.Disks[0]
	path := filepath.Join(d.Path, "file")
	write(t, path, "synced", true)
	if err := d.Gone(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("more"), 0o600); !errors.Is(err, syscall.EIO) {
		t.Errorf("a write to a disk that is gone: %v", err)
	}
	if err := d.Remount(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "synced" {
		t.Errorf("after the disk is back: %q, %v", got, err)
	}
}

func TestHungDiskLetsGoWhenThawed(t *testing.T) {
	l := lab(t, "n1")
	d := l.Disks[0]
	if err := d.Hang(); err != nil {
		t.Fatal(err)
	}
	thawed := make(chan struct{})
	done := make(chan error, 1) // one result, so the writer never waits for the test
	go func() {
		err := os.WriteFile(filepath.Join(d.Path, "file"), []byte("text"), 0o600)
		select {
		case <-thawed:
		default:
			err = errors.Join(err, errors.New("the write went through while the disk hung"))
		}
		done <- err
	}()
	// The write has begun when its file could be made; on a frozen file system
	// not even that, so there is nothing to wait for but the thaw itself.
	close(thawed)
	if err := d.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(d.Path, "after"), "text", true)
}

func TestFullDiskHasNoRoomLeft(t *testing.T) {
	l := lab(t, "n1")
	d := l.Disks[0]
	if err := d.Full(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Path, "file"), bytes.Repeat([]byte("x"), 4<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a write to a full disk: %v", err)
	}
	if err := d.Free(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d.Path, "file"), "text", true)
}

func TestEmptyDiskForgetsEverything(t *testing.T) {
	l := lab(t, "n1")
	d := l.Disks[0]
	write(t, filepath.Join(d.Path, "file"), "text", true)
	if err := d.Empty(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(d.Path, "file")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file survived its disk: %v", err)
	}
}

func TestSweepUnmountsWhatWasLeft(t *testing.T) {
	l := lab(t, "n1", "n2")
	for _, d := range l.Disks {
		d.stopCanary()
	}
	if err := l.Disks[0].Hang(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(l.Disks[0].Path)
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := mountsBelow(dir); err != nil || len(left) > 0 {
		t.Errorf("still mounted: %v, %v", left, err)
	}
	for _, d := range l.Disks {
		d.mounted, d.frozen = false, false
	}
}

// nodeFiles is a data directory with a file of each class.
func nodeFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"group-0/log/0001.wal", "group-0/stable.db", "group-0/snapshots/2-1/state.bin", "group-0/bodies/0000000001.bodies", "node.json"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, name+"\x00\x00\x00\x00", false)
	}
	return dir
}

func TestFlipBitChangesOneBitOfItsClass(t *testing.T) {
	for _, class := range []Class{ClassLog, ClassStable, ClassSnapshot, ClassBodies} {
		t.Run(string(class), func(t *testing.T) {
			dir := nodeFiles(t)
			files, err := Files(dir, class)
			if err != nil || len(files) != 1 {
				t.Fatalf("files of the class: %v, %v", files, err)
			}
			before, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			file, at, err := FlipBit(dir, class, rand.New(rand.NewPCG(1, 2)))
			if err != nil || file != files[0] {
				t.Fatalf("flipped %s at %d: %v", file, at, err)
			}
			after, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			flipped := before[at] ^ after[at]
			if flipped == 0 || flipped&(flipped-1) != 0 || before[at] == 0 {
				t.Errorf("byte %d was %#x and is %#x", at, before[at], after[at])
			}
			before[at] = after[at]
			if !bytes.Equal(before, after) {
				t.Error("another byte changed, too")
			}
		})
	}
}

func TestTruncateMakesAFileShorter(t *testing.T) {
	dir := nodeFiles(t)
	file, size, err := Truncate(dir, ClassLog, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != size || size >= int64(len("group-0/log/0001.wal"))+4 {
		t.Errorf("%s has %v bytes, want %d: %v", file, info, size, err)
	}
}

func TestRollbackBringsTheCopyBack(t *testing.T) {
	dir := nodeFiles(t)
	kept := filepath.Join(t.TempDir(), "copy")
	if err := Copy(dir, kept); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "node.json"), "newer", false)
	write(t, filepath.Join(dir, "new.json"), "newer", false)
	if err := Rollback(dir, kept); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "node.json")); err != nil || string(got) != "node.json\x00\x00\x00\x00" {
		t.Errorf("node.json is %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a newer file is there: %v", err)
	}
}
