package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Class is a kind of file of a data directory.
type Class string

// The classes of files that a node must not trust blindly.
const (
	ClassLog      Class = "log"      // the replicated log
	ClassStable   Class = "stable"   // term and vote
	ClassSnapshot Class = "snapshot" // the newest state
	ClassBodies   Class = "bodies"   // segments with bodies of messages
)

// holds reports whether the file with this path inside the data directory is of
// the class.
func (c Class) holds(path string) bool {
	name := filepath.Base(path)
	switch c {
	case ClassLog:
		return strings.HasSuffix(name, ".wal") || name == "log.db"
	case ClassStable:
		return name == "stable.db"
	case ClassSnapshot:
		return strings.Contains(path, "snapshot") && name == "state.bin"
	case ClassBodies:
		return strings.HasSuffix(name, ".bodies")
	}
	return false
}

// Files returns the files of a class below a data directory that are not empty.
func Files(dir string, class Class) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || !entry.Type().IsRegular() || !class.holds(rel) {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Size() == 0 {
			return err
		}
		found = append(found, path)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for files of the %s: %w", class, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no file of the %s in %s", class, dir)
	}
	return found, nil
}

// FlipBit flips one bit in a nonzero byte of a file of the class, because files are longer than
// their content and the rest is never read. It returns the file and the offset. The node must be
// stopped, except for ClassBodies.
func FlipBit(dir string, class Class, random *rand.Rand) (file string, offset int64, err error) {
	files, err := Files(dir, class)
	if err != nil {
		return "", 0, err
	}
	file = files[random.IntN(len(files))]
	content, err := os.ReadFile(file)
	if err != nil {
		return "", 0, fmt.Errorf("flip a bit: %w", err)
	}
	var places []int64
	for at, b := range content {
		if b != 0 {
			places = append(places, int64(at))
		}
	}
	if len(places) == 0 {
		return "", 0, fmt.Errorf("flip a bit: %s holds only zeros", file)
	}
	offset = places[random.IntN(len(places))]
	return file, offset, FlipBitAt(file, offset, uint(random.IntN(8)))
}

// FlipBitAt flips a bit of the byte at an offset.
func FlipBitAt(file string, offset int64, bit uint) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("flip a bit: %w", err)
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], offset)
	if err == nil {
		b[0] ^= 1 << (bit % 8)
		_, err = f.WriteAt(b[:], offset)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("flip a bit of %s at %d: %w", file, offset, err)
	}
	return nil
}

// Truncate truncates a file of the class at a random place. The node must be stopped.
func Truncate(dir string, class Class, random *rand.Rand) (file string, size int64, err error) {
	files, err := Files(dir, class)
	if err != nil {
		return "", 0, err
	}
	file = files[random.IntN(len(files))]
	info, err := os.Stat(file)
	if err != nil {
		return "", 0, fmt.Errorf("cut a file: %w", err)
	}
	size = random.Int64N(info.Size())
	if err := os.Truncate(file, size); err != nil {
		return "", 0, fmt.Errorf("cut %s to %d bytes: %w", file, size, err)
	}
	return file, size, nil
}

// Copy copies a data directory for a later Rollback. The node must be stopped, and to must not
// exist.
func Copy(dir, to string) error {
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		return fmt.Errorf("copy %s: %w", dir, err)
	}
	// The canary does not belong to the node, and Rollback leaves it on the disk.
	if err := os.Remove(filepath.Join(to, canaryName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy %s: %w", dir, err)
	}
	return nil
}

// Rollback replaces a data directory by a copy, as if a volume was restored from an old backup. The
// node must be stopped. The result survives a power cut.
func Rollback(dir, from string) error {
	if err := Clear(dir); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return fmt.Errorf("roll back %s: %w", dir, err)
	}
	return SyncFS(dir)
}

// Clear empties a data directory, as if a volume was lost. The node must be stopped. The result
// survives a power cut.
func Clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("empty %s: %w", dir, err)
	}
	for _, entry := range entries {
		if entry.Name() == canaryName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("empty %s: %w", dir, err)
		}
	}
	return SyncFS(dir)
}
