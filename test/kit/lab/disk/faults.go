package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Gone makes the disk fail every operation, while its processes continue. PowerCut or Remount,
// after the processes have ended, brings back the synced data.
func (d *Disk) Gone() error {
	d.stopCanary()
	if err := control(d.Path, shutdown); err != nil {
		return fmt.Errorf("take away disk %s: %w", d.Name, err)
	}
	return nil
}

// Hang makes every write to the disk wait until Thaw. A waiting process cannot even be killed: its
// sockets stay open, and it ends only when the disk is back. Before the hang, unsynced data is
// written.
func (d *Disk) Hang() error {
	d.stopCanary()
	if err := control(d.Path, freeze); err != nil {
		return fmt.Errorf("freeze disk %s: %w", d.Name, err)
	}
	d.frozen = true
	return nil
}

// Thaw ends Hang, and otherwise has no effect.
func (d *Disk) Thaw() error {
	if !d.frozen {
		return nil
	}
	if err := control(d.Path, thaw); err != nil {
		return fmt.Errorf("thaw disk %s: %w", d.Name, err)
	}
	d.frozen = false
	var err error
	d.canary, err = startCanary(d.Path)
	return err
}

// fillerBytes are the sizes of the pieces that fill a disk. The smaller pieces fill what the larger
// ones leave, so that a node cannot even make small writes.
var fillerBytes = [...]int64{64 << 20, 1 << 20, 64 << 10, 4 << 10, 1 << 10}

// Full fills the disk to the last KiB. It allocates the space without writing, so that the disk is
// not busy.
func (d *Disk) Full() error {
	path := filepath.Join(d.Path, fmt.Sprintf(".filler-%d", len(d.filler)))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("fill disk %s: %w", d.Name, err)
	}
	d.filler = append(d.filler, path)
	end := int64(0)
	for _, size := range fillerBytes {
		for {
			if err = allocate(file, end, size); err != nil {
				break
			}
			end += size
		}
		if !errors.Is(err, errFull) {
			return errors.Join(fmt.Errorf("fill disk %s: %w", d.Name, err), file.Close())
		}
	}
	return file.Close()
}

// Free ends Full.
func (d *Disk) Free() error {
	for _, path := range d.filler {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("free disk %s: %w", d.Name, err)
		}
	}
	d.filler = nil
	return nil
}

// Empty replaces the file system by a new one, as if a volume was lost. The process must have
// ended.
func (d *Disk) Empty() error {
	info, err := os.Stat(d.image)
	if err != nil {
		return fmt.Errorf("empty disk %s: %w", d.Name, err)
	}
	if err := d.unmount(); err != nil {
		return err
	}
	if err := d.format(info.Size()); err != nil {
		return fmt.Errorf("empty disk %s: %w", d.Name, err)
	}
	d.filler = nil
	return d.mount()
}

// control runs an operation on an open file system.
func control(path string, operation func(*os.File) error) error {
	root, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(operation(root), root.Close())
}
