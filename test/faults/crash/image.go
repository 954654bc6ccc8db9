package crash

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// rootInode is the inode of the data directory.
const rootInode = 1

// image is the content of a disk. Files are shared between copies until they
// are written.
type image struct {
	files map[uint64][]byte
	dirs  map[uint64]map[string]uint64
}

func newImage() *image {
	return &image{files: map[uint64][]byte{}, dirs: map[uint64]map[string]uint64{rootInode: {}}}
}

func (m *image) clone() *image {
	c := &image{files: maps.Clone(m.files), dirs: make(map[uint64]map[string]uint64, len(m.dirs))}
	for inode, names := range m.dirs {
		c.dirs[inode] = maps.Clone(names)
	}
	return c
}

// apply makes the change of an event.
func (m *image) apply(e event) {
	switch e.kind {
	case kindSync: // changes nothing
	case kindWrite:
		old := m.files[e.inode]
		content := make([]byte, max(int64(len(old)), e.offset+int64(len(e.data))))
		copy(content, old)
		copy(content[e.offset:], e.data)
		m.files[e.inode] = content
	case kindTruncate:
		old := m.files[e.inode]
		content := make([]byte, e.size)
		copy(content, old)
		m.files[e.inode] = content
	case kindName:
		// The directory may be known only because it contains the name.
		m.bear(e.inode, true)
		m.bear(e.target, e.dir)
		m.dirs[e.inode][e.name] = e.target
	case kindUnname:
		if m.dirs[e.inode][e.name] == e.target {
			delete(m.dirs[e.inode], e.name)
		}
	case kindRename:
		if m.dirs[e.inode][e.name] == e.target {
			delete(m.dirs[e.inode], e.name)
		}
		m.bear(e.newDir, true)
		m.bear(e.target, e.dir)
		m.dirs[e.newDir][e.newName] = e.target
	}
}

// bear creates an empty file or directory unless it exists. A power cut may keep its name without
// its content.
func (m *image) bear(inode uint64, dir bool) {
	if dir {
		if m.dirs[inode] == nil {
			m.dirs[inode] = map[string]uint64{}
		}
	} else if m.files[inode] == nil {
		m.files[inode] = []byte{}
	}
}

// sum returns a hash of the names and contents.
func (m *image) sum() [sha256.Size]byte {
	h := sha256.New()
	m.walk(rootInode, "", func(path string, content []byte, dir bool) {
		fmt.Fprintf(h, "%q %v ", path, dir)
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(content))))
		h.Write(content)
	})
	return [sha256.Size]byte(h.Sum(nil))
}

// walk visits everything that has a name, in order.
func (m *image) walk(dir uint64, path string, visit func(path string, content []byte, dir bool)) {
	for _, name := range slices.Sorted(maps.Keys(m.dirs[dir])) {
		inode, at := m.dirs[dir][name], filepath.Join(path, name)
		if m.dirs[inode] != nil {
			visit(at, nil, true)
			m.walk(inode, at, visit)
		} else {
			visit(at, m.files[inode], false)
		}
	}
}

// write makes the image a real directory, which must be empty or not exist.
func (m *image) write(root string) (err error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	m.walk(rootInode, "", func(path string, content []byte, dir bool) {
		switch {
		case err != nil:
		case dir:
			err = os.Mkdir(filepath.Join(root, path), 0o700)
		default:
			err = os.WriteFile(filepath.Join(root, path), content, 0o600)
		}
	})
	return err
}
