package sealing

import (
	"crypto/ecdh"
	"crypto/hpke"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/queue/access"
)

// FileName is the file in the data directory with the private key of the node.
const FileName = "secrets.key"

var kem = hpke.DHKEM(ecdh.X25519())

// holder is a private key that opens the wraps made for it.
type holder struct {
	name    string
	private hpke.PrivateKey
	public  string
}

func newHolder(name string, private hpke.PrivateKey) *holder {
	return &holder{name: name, private: private, public: string(private.PublicKey().Bytes())}
}

// unwrap opens the sealing key with an id.
func (h *holder) unwrap(id string, w access.Wrap) (*Key, error) {
	raw, err := hpke.Open(h.private, hpke.HKDFSHA256(), hpke.AES256GCM(), wrapInfo(id, w.Holder), []byte(w.Text))
	if err != nil {
		return nil, errNotAuthentic
	}
	key, err := newKey(raw)
	if err != nil || key.ID() != id {
		return nil, errNotAuthentic
	}
	return key, nil
}

// fileRecord is the content of secrets.key.
type fileRecord struct {
	Format     int    `json:"format"`
	PrivateKey []byte `json:"privateKey"`
}

func (r fileRecord) parse() (hpke.PrivateKey, error) {
	if r.Format != 1 {
		return nil, fmt.Errorf("it has the format %d, which this program does not know", r.Format)
	}
	return kem.NewPrivateKey(r.PrivateKey)
}

// openFile reads the private key of a node, or makes one if there is none.
func openFile(path string, random io.Reader, write func(do func() error) error) (hpke.PrivateKey, error) {
	var record fileRecord
	err := storage.ReadRecord(path, &record)
	if errors.Is(err, fs.ErrNotExist) {
		return makeFile(path, random, write)
	}
	var private hpke.PrivateKey
	if err == nil {
		private, err = record.parse()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; if another node is left, move this file away: this node then makes a new one", path, err)
	}
	return private, nil
}

// makeFile draws a private key and writes it to disk.
func makeFile(path string, random io.Reader, write func(do func() error) error) (hpke.PrivateKey, error) {
	seed := make([]byte, keyBytes)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, fmt.Errorf("drawing the private key of the node: %w", err)
	}
	private, err := kem.DeriveKeyPair(seed)
	if err != nil {
		return nil, fmt.Errorf("drawing the private key of the node: %w", err)
	}
	record := fileRecord{Format: 1}
	if record.PrivateKey, err = private.Bytes(); err != nil {
		return nil, fmt.Errorf("drawing the private key of the node: %w", err)
	}
	return private, write(func() error { return storage.WriteRecord(path, record) })
}

// parseFile parses the file of another node.
func parseFile(content []byte) (hpke.PrivateKey, error) {
	var record fileRecord
	if err := storage.ParseRecord(content, &record); err != nil {
		return nil, err
	}
	return record.parse()
}

// keyFileHolder is the prefix of holders that are keys of an encryption key file. A node id has no
// slash.
const keyFileHolder = "encryption-key/"

// keyFileHolders returns the holders for the keys of an encryption key file, the active one first.
func keyFileHolders(keys *encryption.Keyring) (list []*holder) {
	for _, id := range keys.IDs() {
		seed, err := keys.Derive(id, "seriatim sealing key")
		if err != nil {
			continue // just removed
		}
		private, err := kem.DeriveKeyPair(seed)
		if err != nil {
			panic(err) // the length of the seed is a constant
		}
		list = append(list, newHolder(keyFileHolder+id.String(), private))
	}
	return list
}
