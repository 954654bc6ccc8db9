package ops

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/cluster"
)

// archivist is a node that can be backed up and restored; *cluster.Node is one.
type archivist interface {
	Backup(ctx context.Context) (*cluster.Backup, error)
	Restore(ctx context.Context, backup io.Reader, options cluster.RestoreOptions) (cluster.Restored, error)
}

var _ archivist = (*cluster.Node)(nil)

// Headers of a backup. The first ones are known before the first byte; the
// trailers come after the last and tell a whole download from one cut off.
const (
	headerIndex     = "X-Seriatim-Index"
	headerLogTime   = "X-Seriatim-Log-Time"
	headerStateHash = "X-Seriatim-State-Hash"
	headerClusterID = "X-Seriatim-Cluster-Id"
	headerSecrets   = "X-Seriatim-Secrets-Key" // of a restore: base64 of the file secrets.key
	trailerBytes    = "X-Seriatim-Backup-Bytes"
	trailerChecksum = "X-Seriatim-Backup-Crc32c"
	backupMediaType = "application/vnd.seriatim.backup"
)

// A backup keeps the state of one moment in memory until it is read, and a restore keeps
// what it reads on disk.
const (
	backupsMax  = 2
	restoresMax = 1
)

// transferIdleMax is how long a caller may take over one piece of a backup. The
// timeouts of the port are for short answers and do not apply.
const transferIdleMax = 30 * time.Second

func (a *Admin) backup(node archivist, w http.ResponseWriter, r *http.Request) {
	backup, err := node.Backup(r.Context())
	if err != nil {
		a.fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	h := w.Header()
	h.Set("Content-Type", backupMediaType)
	h.Set(headerIndex, strconv.FormatUint(backup.Index, 10))
	h.Set(headerLogTime, strconv.FormatInt(int64(backup.LogTime), 10))
	h.Set(headerStateHash, backup.StateHash)
	h.Set(headerClusterID, backup.ClusterID)
	h.Set("Trailer", trailerBytes+", "+trailerChecksum)
	out := &transfer{to: w, control: http.NewResponseController(w), now: a.Now, sum: crc32.New(crc32.MakeTable(crc32.Castagnoli))}
	if err := backup.Stream(r.Context(), out); err != nil {
		a.Logger.Warn("a backup was not read to its end", "index", backup.Index, "bytes", out.bytes, "error", err)
		// The caller must not take for whole what it has got.
		panic(http.ErrAbortHandler)
	}
	h.Set(trailerBytes, strconv.FormatInt(out.bytes, 10))
	h.Set(trailerChecksum, fmt.Sprintf("%08x", out.sum.Sum32()))
	at := a.Now()
	a.backedUp.Store(at.Unix())
	if a.OnBackup != nil {
		a.OnBackup(at)
	}
	a.Logger.Info("backed up", "index", backup.Index, "bytes", out.bytes)
}

func (a *Admin) restore(node archivist, w http.ResponseWriter, r *http.Request) {
	// As for every change: a page of another site can send neither type.
	if !a.hasType(w, r, backupMediaType, "application/octet-stream") {
		return
	}
	options, err := restoreOptions(r)
	if err != nil {
		a.fail(w, http.StatusBadRequest, err.Error())
		return
	}
	control := http.NewResponseController(w)
	// A restore takes as long as it takes; only silence while the backup
	// arrives ends it. Where no deadline can be set there is none to lift.
	_ = control.SetWriteDeadline(time.Time{})
	restored, err := node.Restore(r.Context(), &arrival{from: r.Body, control: control, now: a.Now}, options)
	switch {
	case err == nil:
		a.answer(w, http.StatusOK, restored)
	case errors.Is(err, cluster.ErrNotFresh):
		a.fail(w, http.StatusConflict, err.Error())
	case errors.Is(err, cluster.ErrSealed):
		a.fail(w, http.StatusBadRequest, err.Error())
	case errors.Is(err, cluster.ErrBadBackup):
		a.fail(w, http.StatusUnprocessableEntity, err.Error())
	default:
		a.Logger.Error("a restore failed", "error", err)
		a.fail(w, http.StatusServiceUnavailable, err.Error())
	}
}

// withoutAccessKeys is the parameter of a restore that leaves the access keys out.
const withoutAccessKeys = "without-access-keys"

// restoreOptions reads what becomes of the access keys of a backup.
func restoreOptions(r *http.Request) (o cluster.RestoreOptions, err error) {
	for name, values := range r.URL.Query() {
		if name != withoutAccessKeys {
			return o, fmt.Errorf("a restore has no parameter %q", name)
		}
		if o.WithoutAccessKeys, err = strconv.ParseBool(values[0]); err != nil {
			return o, fmt.Errorf("the parameter %s is true or false", name)
		}
	}
	file, err := base64.StdEncoding.DecodeString(r.Header.Get(headerSecrets))
	if err != nil {
		return o, fmt.Errorf("the header %s is not the base64 of a file", headerSecrets)
	}
	o.SecretsKey = string(file)
	return o, nil
}

// transfer sends a backup, counts it and puts off the deadline of the port.
type transfer struct {
	to      io.Writer
	control *http.ResponseController
	now     func() time.Time
	bytes   int64
	sum     hash.Hash32
}

// Write sends one piece.
func (t *transfer) Write(content []byte) (int, error) {
	_ = t.control.SetWriteDeadline(t.now().Add(transferIdleMax)) // where it cannot be set there is none
	n, err := t.to.Write(content)
	t.bytes += int64(n)
	_, _ = t.sum.Write(content[:n]) // a hash never fails
	return n, err
}

// arrival receives a backup and puts off the deadline of the port.
type arrival struct {
	from    io.Reader
	control *http.ResponseController
	now     func() time.Time
}

// Read receives one piece.
func (r *arrival) Read(content []byte) (int, error) {
	_ = r.control.SetReadDeadline(r.now().Add(transferIdleMax)) // where it cannot be set there is none
	n, err := r.from.Read(content)
	if errors.Is(err, io.EOF) {
		// All is here; a deadline that passes while it is restored would look
		// as if the caller had gone.
		_ = r.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
