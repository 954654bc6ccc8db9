package storage

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

func newTestKeys(t *testing.T) *encryption.Keyring {
	t.Helper()
	key, err := encryption.DrawKey(rand.Reader)
	clustertest.Must(t, err)
	keys, err := encryption.NewKeyring(rand.Reader, key)
	clustertest.Must(t, err)
	return keys
}

// notInFiles searches all files of a folder.
func notInFiles(t *testing.T, folder, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "group-0", "*", "*"))
	more, err2 := filepath.Glob(filepath.Join(folder, "group-0", "*"))
	deep, err3 := filepath.Glob(filepath.Join(folder, "group-0", "*", "*", "*"))
	clustertest.Must(t, errors.Join(err, err2, err3))
	for _, file := range append(append(files, more...), deep...) {
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		content, err := os.ReadFile(file)
		clustertest.Must(t, err)
		if bytes.Contains(content, []byte(text)) {
			t.Errorf("%s has %q", file, text)
		}
	}
}

func TestEncryptedLog(t *testing.T) {
	for _, store := range []string{LogStoreWAL, LogStoreBoltDB} {
		t.Run(store, func(t *testing.T) {
			h := newStoreHarness(t, store)
			const plain, secret = "what was there before", "what is encrypted"
			put := func(index uint64, text string) {
				t.Helper()
				if err := h.log.StoreLogs([]*raft.Log{{Index: index, Term: 1, Data: []byte(text)},
					{Index: index + 1, Term: 1, Type: raft.LogNoop}}); err != nil {
					t.Fatal(err)
				}
			}
			want := func(index uint64, text string) {
				t.Helper()
				var entry raft.Log
				if err := h.log.GetStored(index, &entry); err != nil || string(entry.Data) != text || entry.Extensions != nil {
					t.Errorf("entry %d: %q, %x, %v", index, entry.Data, entry.Extensions, err)
				}
			}
			put(1, plain)
			h.keys = newTestKeys(t)
			clustertest.Must(t, h.reopen())
			put(3, secret)
			want(1, plain)
			want(3, secret)
			clustertest.Must(t, h.reopen())
			want(1, plain)
			want(3, secret)
			notInFiles(t, h.path, secret)
			for _, keys := range []*encryption.Keyring{nil, newTestKeys(t)} {
				h.keys = keys
				err := h.reopen()
				if codes, _ := h.record.All(); !errors.Is(err, encryption.ErrKeyMissing) || len(codes) == 0 ||
					codes[0] != fault.ExitKeyMissing {
					t.Errorf("without the key: %v, %v", codes, err)
				}
			}
		})
	}
}

// Any change of an encrypted entry is detected, even with a matching checksum.
func TestEncryptedEntryIsTiedToItsPlace(t *testing.T) {
	keys := newTestKeys(t)
	sealer := entrySealer{keys: keys, sealer: keys.NewSealer(entryPurpose)}
	changes := map[string]func(*raft.Log){
		"index":  func(l *raft.Log) { l.Index = 10 },
		"term":   func(l *raft.Log) { l.Term++ },
		"type":   func(l *raft.Log) { l.Type = raft.LogBarrier },
		"data":   func(l *raft.Log) { l.Data[3] ^= 4 },
		"head":   func(l *raft.Log) { l.Extensions[30] ^= 1 },
		"plain":  func(l *raft.Log) { l.Extensions[len(l.Extensions)-sealBytes] = plainFormat },
		"no end": func(l *raft.Log) { l.Data = l.Data[:len(l.Data)-1] },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			sealed := *sealer.seal([]*raft.Log{{Index: 9, Term: 2, Data: []byte("0123456789")}})[0]
			change(&sealed)
			format := sealed.Extensions[len(sealed.Extensions)-sealBytes]
			sealed.Extensions = sealed.Extensions[:len(sealed.Extensions)-sealBytes]
			sum := entryChecksum(&sealed)
			sealed.Extensions = append(sealed.Extensions, format, byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
			err := sealer.unseal(sealed.Index, &sealed)
			if name == "plain" {
				if err == nil && string(sealed.Data) == "0123456789" {
					t.Error("it was read")
				}
				return
			}
			if !errors.Is(err, encryption.ErrNotAuthentic) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestEncryptedSnapshots(t *testing.T) {
	const secret = "what is encrypted"
	path := t.TempDir()
	s, record := openTestSnapshots(t, path)
	plain := writeTestSnapshot(t, s, 5, []byte("plain"))
	s.keys = newTestKeys(t)
	content := bytes.Repeat([]byte(secret), 20_000)
	id := writeTestSnapshot(t, s, 10, content)
	notInFiles(t, path, secret)
	for id, want := range map[string][]byte{plain: []byte("plain"), id: content} {
		meta, reader, err := s.Open(id)
		clustertest.Must(t, err)
		got, err := io.ReadAll(reader)
		if err := errors.Join(err, reader.Close()); err != nil || !bytes.Equal(got, want) || meta.Size != int64(len(want)) {
			t.Errorf("%d bytes of %d, described as %d: %v", len(got), len(want), meta.Size, err)
		}
	}
	incoming, err := s.CreateIncoming()
	clustertest.Must(t, err)
	clustertest.Must(t, clustertest.Err(incoming.Write(content)))
	if size, err := incoming.Rewind(); err != nil || size != int64(len(content)) {
		t.Fatal(size, err)
	}
	notInFiles(t, path, secret)
	if got, err := io.ReadAll(incoming); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
	}
	if ended(record) {
		t.Fatal("the node ended")
	}
	s.keys = nil
	if _, _, err := s.Open(id); !errors.Is(err, encryption.ErrKeyMissing) {
		t.Errorf("without the key: %v", err)
	}
	if codes, _ := record.All(); len(codes) != 1 || codes[0] != fault.ExitKeyMissing {
		t.Errorf("the node ends with %v", codes)
	}
}
