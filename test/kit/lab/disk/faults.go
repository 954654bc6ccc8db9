package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Gone makes the disk fail every operation with an error, for ever, while the
// processes on it go on. PowerCut or Remount, with the processes gone, brings
// back what was synced.
func (d *Disk) Gone() error {
	d.stopCanary()
	if err := control(d.Path, shutdown); err != nil {
		return fmt.Errorf("take away disk %s: %w", d.Name, err)
	}
	return nil
}

// Hang makes every write to the disk wait until Thaw. A process that waits so
// cannot even be killed: its sockets stay open, and it ends when the disk is back.
// Freezing writes out what was not synced.
func (d *Disk) Hang() error {
	d.stopCanary()
	if err := control(d.Path, freeze); err != nil {
		return fmt.Errorf("freeze disk %s: %w", d.Name, err)
	}
	d.frozen = true
	return nil
}

// Thaw ends Hang. It does nothing to a disk that does not hang.
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

// fillerBytes are the sizes of the pieces that fill a disk: what the larger ones
// leave, the smaller ones take, or a node could still make its small writes.
var fillerBytes = [...]int64{64 << 20, 1 << 20, 64 << 10, 4 << 10, 1 << 10}

// Full fills the disk to the last KiB. The space is taken without writing, so
// that the disk is full and not busy.
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

// Empty is a lost volume: a new file system under the old name. The process
// must be gone.
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
