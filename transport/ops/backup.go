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

// archivist makes and restores backups; *cluster.Node is one.
type archivist interface {
	Backup(ctx context.Context) (*cluster.Backup, error)
	Restore(ctx context.Context, backup io.Reader, options cluster.RestoreOptions) (cluster.Restored, error)
}

var _ archivist = (*cluster.Node)(nil)

// Headers and trailers of a backup. The trailers show that a download is complete.
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

// A backup holds a state in memory until it is read, and a restore stores its input on disk.
const (
	backupsMax  = 2
	restoresMax = 1
)

// transferIdleMax bounds the time for one piece of a backup, in place of the timeouts of the port.
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
		// The caller must notice that the backup is incomplete.
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
	// A page of another site can send neither type.
	if !a.hasType(w, r, backupMediaType, "application/octet-stream") {
		return
	}
	options, err := restoreOptions(r)
	if err != nil {
		a.fail(w, http.StatusBadRequest, err.Error())
		return
	}
	control := http.NewResponseController(w)
	// A restore has no time limit except between two pieces of the backup. Without support for
	// deadlines there is none to remove.
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

// restoreOptions reads the options for the access keys of a backup.
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

// transfer sends a backup, counts its bytes and extends the deadline of the port.
type transfer struct {
	to      io.Writer
	control *http.ResponseController
	now     func() time.Time
	bytes   int64
	sum     hash.Hash32
}

func (t *transfer) Write(content []byte) (int, error) {
	_ = t.control.SetWriteDeadline(t.now().Add(transferIdleMax)) // fails only without support for deadlines
	n, err := t.to.Write(content)
	t.bytes += int64(n)
	_, _ = t.sum.Write(content[:n]) // a hash never fails
	return n, err
}

// arrival receives a backup and extends the deadline of the port.
type arrival struct {
	from    io.Reader
	control *http.ResponseController
	now     func() time.Time
}

func (r *arrival) Read(content []byte) (int, error) {
	_ = r.control.SetReadDeadline(r.now().Add(transferIdleMax)) // fails only without support for deadlines
	n, err := r.from.Read(content)
	if errors.Is(err, io.EOF) {
		// All bytes are here: the deadline must not end the restore.
		_ = r.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
