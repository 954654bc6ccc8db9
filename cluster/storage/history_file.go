package storage

import (
	"errors"
	"io"
	"os"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// historyPurpose is the purpose of the key of the history file.
const historyPurpose = "history"

// WriteHistory replaces the file of the history, encrypted if the data directory is. A crash leaves
// either the old or the new file.
func (d *Dir) WriteHistory(write func(io.Writer) error) (err error) {
	path := d.File(HistoryName)
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, privateFile)
	if err != nil {
		return err
	}
	err = d.writeHistory(file, write)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path+".new"))
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return SyncDir(d.Path)
}

func (d *Dir) writeHistory(file io.Writer, write func(io.Writer) error) error {
	if d.Keys == nil {
		return write(file)
	}
	sealed, err := d.Keys.NewWriter(file, historyPurpose)
	if err != nil {
		return err
	}
	return errors.Join(write(sealed), sealed.Close())
}

// ReadHistory reads the file of the history. The error wraps fs.ErrNotExist if there is none.
func (d *Dir) ReadHistory(read func(io.Reader) error) (err error) {
	file, err := os.Open(d.File(HistoryName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	head := make([]byte, encryption.StreamHeadBytes)
	n, _ := io.ReadFull(file, head) // a short file is refused by read
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if !encryption.IsStream(head[:n]) {
		return read(file)
	}
	if d.Keys == nil {
		return encryption.ErrKeyMissing
	}
	opened, err := d.Keys.NewReader(file, historyPurpose)
	if err != nil {
		return err
	}
	return read(opened)
}
