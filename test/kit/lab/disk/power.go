package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Powered is a process and its disk, which lose power together.
type Powered struct {
	Disk *Disk
	Kill func() error // ends the process and returns when it is gone
}

// Loss is the data that a power cut discarded.
type Loss struct {
	// Dirty is the number of bytes of the node's files that were written but not synced, which are
	// the dirty pages right after the cut. It is a lower bound, since files that were created
	// during the count are missing.
	Dirty int64
	// Canary is the number of lost bytes of the canary, which is never synced.
	Canary int64
	// Files is the number of files that had a name before the cut and none afterwards.
	Files int
	// Spread is the time between the first and the last of several cuts.
	Spread time.Duration
}

// Bytes returns the number of all unsynced bytes that were lost.
func (l Loss) Bytes() int64 { return l.Dirty + l.Canary }

// PowerCut cuts the power of all of them at once: first every disk stops accepting writes and
// discards what was not synced, then the processes are killed, and then the disks are mounted
// again. The processes are not restarted.
func PowerCut(victims ...Powered) (Loss, error) {
	cuts := make([]cut, len(victims))
	for i, v := range victims {
		if err := cuts[i].prepare(v.Disk); err != nil {
			for j := range i + 1 {
				cuts[j].release()
			}
			return Loss{}, fmt.Errorf("power cut of %s: %w", v.Disk.Name, err)
		}
	}
	// All at once: each waits for the start, and none for another.
	start := make(chan struct{})
	var cutting sync.WaitGroup
	for i := range cuts {
		cutting.Go(func() {
			<-start
			cuts[i].apply(victims[i].Kill)
		})
	}
	close(start)
	cutting.Wait()

	var loss Loss
	var problems []error
	var times []time.Time
	for _, c := range cuts {
		times = append(times, c.at)
		loss.Dirty += c.dirty
		problems = append(problems, c.err)
	}
	loss.Spread = slices.MaxFunc(times, time.Time.Compare).Sub(slices.MinFunc(times, time.Time.Compare))
	if err := errors.Join(problems...); err != nil {
		return loss, fmt.Errorf("power cut: %w", err)
	}
	for i, v := range victims {
		if err := cuts[i].restore(v.Disk, &loss); err != nil {
			return loss, fmt.Errorf("power on of %s: %w", v.Disk.Name, err)
		}
	}
	return loss, nil
}

// cut is the state of one disk during a power cut.
type cut struct {
	root  *os.File
	files []*os.File // of the node, opened before the cut because they cannot be opened after it
	names []string
	sings bool // whether there is a canary; a test may have emptied the directory
	at    time.Time
	dirty int64
	err   error
}

func (c *cut) prepare(d *Disk) error {
	var err error
	if c.root, err = os.Open(d.Path); err != nil {
		return err
	}
	return filepath.WalkDir(d.Path, func(path string, entry fs.DirEntry, err error) error {
		// A running node creates and removes files. A removed file loses nothing.
		if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
			return nil
		}
		if err == nil && entry.Name() == canaryName {
			c.sings = true
			return nil
		}
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		c.files, c.names = append(c.files, file), append(c.names, path)
		return nil
	})
}

func (c *cut) apply(kill func() error) {
	c.err = shutdown(c.root)
	c.at = time.Now()
	for _, file := range c.files {
		c.dirty += dirtyBytes(file)
	}
	c.release()
	c.err = errors.Join(c.err, kill())
}

// release closes the files; they were only read.
func (c *cut) release() {
	if c.root != nil {
		_ = c.root.Close()
	}
	for _, file := range c.files {
		_ = file.Close()
	}
}

// restore mounts the disk again and determines the loss.
func (c *cut) restore(d *Disk, loss *Loss) error {
	written := uint64(0)
	if d.canary != nil {
		written = d.canary.stop()
		d.canary = nil
	}
	if err := d.unmount(); err != nil {
		return err
	}
	if err := d.attach(); err != nil {
		return err
	}
	found, err := canaryFound(d.Path)
	if err == nil && !c.sings {
		found = written
	}
	if err == nil {
		loss.Canary += int64(written-min(found, written)) * canaryBlock
		for _, name := range c.names {
			if _, statErr := os.Lstat(name); errors.Is(statErr, fs.ErrNotExist) {
				loss.Files++
			}
		}
	}
	return errors.Join(err, d.wake())
}
