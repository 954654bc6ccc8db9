package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// DefaultBytes is the default size of a disk.
const DefaultBytes = 512 << 20

// mountOptions reduce the guarantees of the file system to the minimum: no implicit write of
// renamed files, and a write of the journal at syncs only, not every five seconds.
const mountOptions = "noatime,noauto_da_alloc,commit=600"

// Lab is a set of disks for a test. Different disks may be used concurrently.
type Lab struct {
	Disks []*Disk
}

// Disk is one file system. Its methods are called by one goroutine at a time.
type Disk struct {
	Name string
	Path string // where it is mounted; a node's data directory

	image   string
	canary  *canary // nil while not mounted or frozen
	mounted bool
	frozen  bool
	filler  []string
}

// Available returns why this machine cannot have such disks, or nil.
var Available = sync.OnceValue(func() error {
	for _, tool := range []string{"mkfs.ext4", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("disks need %s: %w", tool, err)
		}
	}
	dir, err := os.MkdirTemp("", "seriatim-disk-")
	if err != nil {
		return fmt.Errorf("try a disk: %w", err)
	}
	defer os.RemoveAll(dir)
	lab, err := New(dir, 64<<20, "try")
	if err != nil {
		return err
	}
	return lab.Close()
})

// New creates a disk for each name, mounted at dir/name. It first unmounts what an earlier process
// left below dir.
func New(dir string, size int64, names ...string) (*Lab, error) {
	if err := Sweep(dir); err != nil {
		return nil, err
	}
	lab := &Lab{}
	for _, name := range names {
		d, err := newDisk(dir, name, size)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make disk %s: %w", name, err), lab.Close())
		}
		lab.Disks = append(lab.Disks, d)
	}
	return lab, nil
}

func newDisk(dir, name string, size int64) (*Disk, error) {
	d := &Disk{Name: name, Path: filepath.Join(dir, name), image: filepath.Join(dir, name+".ext4")}
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return nil, err
	}
	if err := d.format(size); err != nil {
		return nil, err
	}
	return d, d.mount()
}

// format creates an empty file system. It reserves no blocks for root, as which the nodes run, so
// that a full disk is full for them. It initializes all tables at once, so that no kernel thread
// writes later.
func (d *Disk) format(size int64) error {
	if err := os.Remove(d.image); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(d.image, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Truncate(size), file.Close()); err != nil {
		return err
	}
	return run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", d.image)
}

func (d *Disk) mount() error {
	if err := d.attach(); err != nil {
		return err
	}
	return d.wake()
}

// attach mounts the disk. The kernel replays the journal, as after a power cut. The loop device
// disappears when the disk is unmounted.
func (d *Disk) attach() error {
	if err := run("mount", "-t", "ext4", "-o", "loop,"+mountOptions, d.image, d.Path); err != nil {
		return err
	}
	d.mounted = true
	return nil
}

// wake removes lost+found, so that a mounted disk is empty, and starts the canary.
func (d *Disk) wake() error {
	if err := os.Remove(filepath.Join(d.Path, "lost+found")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var err error
	d.canary, err = startCanary(d.Path)
	return err
}

// unmountWithin bounds the time in which a killed process closes its files.
const unmountWithin = 30 * time.Second

// unmount never detaches a busy file system, which would be destroyed if it was mounted a second
// time.
func (d *Disk) unmount() error {
	d.stopCanary()
	if !d.mounted {
		return nil
	}
	if err := unmountPath(d.Path, unmountWithin); err != nil {
		return fmt.Errorf("unmount %s: %w", d.Path, err)
	}
	d.mounted = false
	return nil
}

func unmountPath(path string, within time.Duration) error {
	deadline := time.Now().Add(within)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := unmount(path)
		if err == nil || !errors.Is(err, errBusy) || time.Now().After(deadline) {
			return err
		}
		<-tick.C
	}
}

func (d *Disk) stopCanary() {
	if d.canary != nil {
		d.canary.stop()
		d.canary = nil
	}
}

// Remount unmounts and mounts a disk, like a reboot. No process may have files open on it.
func (d *Disk) Remount() error {
	if err := d.Thaw(); err != nil {
		return err
	}
	if err := d.unmount(); err != nil {
		return err
	}
	return d.mount()
}

// Close thaws and unmounts all disks. Their processes must have ended.
func (l *Lab) Close() error {
	var problems []error
	for _, d := range l.Disks {
		problems = append(problems, d.Thaw(), d.unmount(), os.Remove(d.image))
	}
	return errors.Join(problems...)
}

// Of returns the disk that contains a path, or nil.
func (l *Lab) Of(path string) *Disk {
	for _, d := range l.Disks {
		if path == d.Path || strings.HasPrefix(path, d.Path+string(filepath.Separator)) {
			return d
		}
	}
	return nil
}

// Sweep thaws and unmounts the disks that a killed process left below dir. The processes on them
// must have ended.
func Sweep(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("sweep %s: %w", dir, err)
	}
	mounts, err := mountsBelow(abs)
	if err != nil {
		return fmt.Errorf("sweep %s: %w", dir, err)
	}
	for _, path := range mounts {
		// Thawing a disk that is not frozen fails without effect.
		_ = control(path, thaw)
		if err := unmountPath(path, unmountWithin); err != nil {
			return fmt.Errorf("sweep %s: unmount %s: %w", dir, path, err)
		}
	}
	return nil
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}
