package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// The canary is a file beside the node's own that is written all the time and never synced. A power
// cut must discard its end, otherwise it was no power cut.
const (
	canaryName   = ".canary"
	canaryBlock  = 4 << 10
	canaryBlocks = 256 // then it starts again at the beginning
	canaryEvery  = 5 * time.Millisecond
)

// canary writes numbered blocks until it is stopped. It belongs to its disk.
type canary struct {
	file    *os.File
	quit    chan struct{}
	done    chan struct{}
	written uint64 // valid once done is closed
}

// startCanary makes the file, whose name and size are themselves not synced.
func startCanary(dir string) (*canary, error) {
	path := filepath.Join(dir, canaryName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("start the canary: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the canary: %w", err)
	}
	c := &canary{file: file, quit: make(chan struct{}), done: make(chan struct{})}
	go c.run()
	return c, nil
}

func (c *canary) run() {
	defer close(c.done)
	defer c.file.Close()
	tick := time.NewTicker(canaryEvery)
	defer tick.Stop()
	block := make([]byte, canaryBlock)
	for {
		binary.LittleEndian.PutUint64(block, c.written+1)
		// Any error ends it: the disk is full or gone, and the blocks written so far are counted.
		if _, err := c.file.WriteAt(block, int64(c.written%canaryBlocks)*canaryBlock); err != nil {
			return
		}
		c.written++
		select {
		case <-c.quit:
			return
		case <-tick.C:
		}
	}
}

// stop ends the canary and returns how many blocks it wrote.
func (c *canary) stop() uint64 {
	close(c.quit)
	<-c.done
	return c.written
}

// canaryFound returns the number of the newest block on the disk.
func canaryFound(dir string) (uint64, error) {
	file, err := os.Open(filepath.Join(dir, canaryName))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for the canary: %w", err)
	}
	defer file.Close()
	var newest uint64
	block := make([]byte, canaryBlock)
	for {
		switch _, err := io.ReadFull(file, block); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return newest, nil
		case err != nil:
			return 0, fmt.Errorf("look for the canary: %w", err)
		}
		newest = max(newest, binary.LittleEndian.Uint64(block))
	}
}
