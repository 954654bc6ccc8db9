package crash

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// recorder is a mounted file system in memory that keeps a journal.
type recorder struct {
	journal journal
	server  *fuse.Server
	inodes  atomic.Uint64 // the last one given out
}

// mount starts recording what is done below dir, which must exist.
func mount(dir string) (*recorder, error) {
	r := &recorder{}
	r.inodes.Store(rootInode)
	// The caches of the kernel are always right: only the kernel changes files.
	ever := time.Hour
	server, err := fs.Mount(dir, &entry{recorder: r, inode: rootInode}, &fs.Options{
		EntryTimeout: &ever, AttrTimeout: &ever,
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "seriatim-crash", Name: "seriatim"},
	})
	if err != nil {
		return nil, fmt.Errorf("mount a recorder at %s: %w", dir, err)
	}
	r.server = server
	return r, nil
}

// available returns why this machine cannot record, or nil.
var available = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "seriatim-crash-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := mount(dir)
	if err != nil {
		return err
	}
	return r.close()
})

// close unmounts the file system. No file may be open.
func (r *recorder) close() error { return r.server.Unmount() }

// entry is a file or a directory. A file has data; names are the library's.
type entry struct {
	fs.Inode
	recorder *recorder
	inode    uint64
	data     []byte // guarded by the journal's lock
}

var (
	_ fs.NodeCreater   = (*entry)(nil)
	_ fs.NodeMkdirer   = (*entry)(nil)
	_ fs.NodeRenamer   = (*entry)(nil)
	_ fs.NodeUnlinker  = (*entry)(nil)
	_ fs.NodeRmdirer   = (*entry)(nil)
	_ fs.NodeOpener    = (*entry)(nil)
	_ fs.NodeReader    = (*entry)(nil)
	_ fs.NodeWriter    = (*entry)(nil)
	_ fs.NodeFsyncer   = (*entry)(nil)
	_ fs.NodeAllocater = (*entry)(nil)
	_ fs.NodeGetattrer = (*entry)(nil)
	_ fs.NodeSetattrer = (*entry)(nil)
	_ fs.NodeStatfser  = (*entry)(nil)
)

// born makes a new entry below e and notes its name.
func (e *entry) born(ctx context.Context, name string, mode uint32) *fs.Inode {
	child := &entry{recorder: e.recorder, inode: e.recorder.inodes.Add(1)}
	node := e.NewPersistentInode(ctx, child, fs.StableAttr{Mode: mode, Ino: child.inode})
	e.recorder.journal.add(event{kind: kindName, inode: e.inode, name: name, target: child.inode, dir: mode == syscall.S_IFDIR}, func() {})
	return node
}

// Create implements fs.NodeCreater.
func (e *entry) Create(ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32,
	syscall.Errno) {
	node := e.born(ctx, name, syscall.S_IFREG)
	node.Operations().(*entry).attributes(&out.Attr)
	return node, nil, 0, 0
}

// Mkdir implements fs.NodeMkdirer.
func (e *entry) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	node := e.born(ctx, name, syscall.S_IFDIR)
	node.Operations().(*entry).attributes(&out.Attr)
	return node, 0
}

// child returns the entry with a name.
func (e *entry) child(name string) (*entry, bool) {
	node := e.GetChild(name)
	if node == nil {
		return nil, false
	}
	return node.Operations().(*entry), node.IsDir()
}

// Rename implements fs.NodeRenamer.
func (e *entry) Rename(_ context.Context, name string, newParent fs.InodeEmbedder, newName string, _ uint32) syscall.Errno {
	child, dir := e.child(name)
	if child == nil {
		return syscall.ENOENT
	}
	to := newParent.(*entry)
	e.recorder.journal.add(
		event{kind: kindRename, inode: e.inode, name: name, target: child.inode, dir: dir, newDir: to.inode, newName: newName},
		func() {})
	return 0
}

// Unlink implements fs.NodeUnlinker.
func (e *entry) Unlink(_ context.Context, name string) syscall.Errno {
	child, _ := e.child(name)
	if child == nil {
		return syscall.ENOENT
	}
	e.recorder.journal.add(event{kind: kindUnname, inode: e.inode, name: name, target: child.inode}, func() {})
	return 0
}

// Rmdir implements fs.NodeRmdirer.
func (e *entry) Rmdir(ctx context.Context, name string) syscall.Errno {
	if node := e.GetChild(name); node != nil && len(node.Children()) > 0 {
		return syscall.ENOTEMPTY
	}
	return e.Unlink(ctx, name)
}

// Open implements fs.NodeOpener. The kernel may cache contents, which memory maps need.
func (e *entry) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Read implements fs.NodeReader.
func (e *entry) Read(_ context.Context, _ fs.FileHandle, to []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	e.recorder.journal.mu.Lock()
	defer e.recorder.journal.mu.Unlock()
	if offset >= int64(len(e.data)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(to[:copy(to, e.data[offset:])]), 0
}

// Write implements fs.NodeWriter.
func (e *entry) Write(_ context.Context, _ fs.FileHandle, data []byte, offset int64) (uint32, syscall.Errno) {
	kept := append([]byte(nil), data...) // the buffer is the library's
	e.recorder.journal.add(event{kind: kindWrite, inode: e.inode, offset: offset, data: kept}, func() {
		e.resize(max(int64(len(e.data)), offset+int64(len(kept))))
		copy(e.data[offset:], kept)
	})
	return uint32(len(data)), 0
}

// resize must be called with the journal's lock held.
func (e *entry) resize(size int64) {
	if size <= int64(len(e.data)) {
		e.data = e.data[:size]
		return
	}
	grown := make([]byte, size)
	copy(grown, e.data)
	e.data = grown
}

// Fsync implements fs.NodeFsyncer, of files and directories.
func (e *entry) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	e.recorder.journal.add(event{kind: kindSync, inode: e.inode}, func() {})
	return 0
}

// Allocate implements fs.NodeAllocater as far as stores need it: it makes a file longer.
func (e *entry) Allocate(_ context.Context, _ fs.FileHandle, offset, size uint64, mode uint32) syscall.Errno {
	if mode != 0 {
		return syscall.ENOTSUP
	}
	e.recorder.journal.mu.Lock()
	end := max(int64(len(e.data)), int64(offset+size))
	e.recorder.journal.mu.Unlock()
	return e.truncate(end)
}

func (e *entry) truncate(size int64) syscall.Errno {
	e.recorder.journal.add(event{kind: kindTruncate, inode: e.inode, size: size}, func() { e.resize(size) })
	return 0
}

// Getattr implements fs.NodeGetattrer.
func (e *entry) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	e.attributes(&out.Attr)
	return 0
}

// Setattr implements fs.NodeSetattrer for sizes. It ignores owners, modes, and times.
func (e *entry) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		e.truncate(int64(size))
	}
	e.attributes(&out.Attr)
	return 0
}

func (e *entry) attributes(out *fuse.Attr) {
	e.recorder.journal.mu.Lock()
	defer e.recorder.journal.mu.Unlock()
	out.Ino = e.inode
	out.Size = uint64(len(e.data))
	out.Mode = e.Mode() | 0o700
	out.Nlink = 1
}

// Statfs implements fs.NodeStatfser. It reports much free space, so that the node does not refuse
// writes.
func (e *entry) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	const blocks = 1 << 22
	out.Bsize, out.Blocks, out.Bfree, out.Bavail, out.NameLen = page, blocks, blocks, blocks, 255
	return 0
}
