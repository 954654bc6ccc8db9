//go:build faults

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// envTap names the file for a record of the applied commands: a path, or fd:N for an inherited
// descriptor.
const envTap = "SERIATIM_TAP"

// operationHeader carries the id of a client's operation, which is written to the record.
const operationHeader = "Seriatim-Op-Id"

// hookVariables are the environment variables that the hooks read.
var hookVariables = []string{envTap}

// hooks holds the access of a fault build to the node.
type hooks struct {
	tap   io.Writer // nil: none
	clock *shiftedClock
}

func newHooks() (hooks, error) {
	h := hooks{clock: newShiftedClock(cluster.SystemClock())}
	var err error
	h.tap, err = openTap(os.Getenv(envTap))
	return h, err
}

func openTap(name string) (io.Writer, error) {
	if name == "" {
		return nil, nil
	}
	if number, ok := strings.CutPrefix(name, "fd:"); ok {
		fd, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", envTap, err)
		}
		return os.NewFile(uintptr(fd), name), nil
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", envTap, err)
	}
	return file, endLine(file)
}

// endLine ends the half-written line of a killed node.
func endLine(file *os.File) error {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 || !info.Mode().IsRegular() {
		return err
	}
	var last [1]byte
	if _, err := file.ReadAt(last[:], info.Size()-1); err != nil {
		return fmt.Errorf("%s: %w", envTap, err)
	}
	if last[0] != '\n' {
		if _, err := file.WriteString("\n"); err != nil {
			return fmt.Errorf("%s: %w", envTap, err)
		}
	}
	return nil
}

// node replaces the clock of a node and adds the tap.
func (h hooks) node(ctx context.Context, cfg *cluster.Config) context.Context {
	cfg.Clock = h.clock
	if h.tap != nil {
		ctx = cluster.WithTap(ctx, h.tap)
	}
	return ctx
}

// clients passes on the operation ids of requests.
func (h hooks) clients(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(operationHeader)
		if !isOperationID(id) {
			http.Error(w, operationHeader+": at most 64 printable ASCII characters", http.StatusBadRequest)
			return
		}
		if id != "" {
			r = r.WithContext(cluster.WithOperation(r.Context(), id))
		}
		handler.ServeHTTP(w, r)
	})
}

func isOperationID(id string) bool {
	return len(id) <= codec.OperationBytesMax && strings.IndexFunc(id, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// snapshotter is the part of a node that operators needs.
type snapshotter interface {
	Snapshot(ctx context.Context) error
}

// operators adds the switches of fault runs to the admin port.
func (h hooks) operators(handler http.Handler, node snapshotter) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/snapshot", func(w http.ResponseWriter, r *http.Request) {
		unverified.From(r.Context()).Permitted() // a snapshot takes long and must not delay probes
		if err := node.Snapshot(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("PUT /v1/clock", h.setClock)
	mux.Handle("/", handler)
	return mux
}

// setClock shifts the clock of the node, see shiftedClock.shift.
func (h hooks) setClock(w http.ResponseWriter, r *http.Request) {
	var shift struct {
		OffsetMs int64    `json:"offsetMs"`
		Rate     *float64 `json:"rate"`
	}
	err := readHook(r, &shift)
	rate := 1.0
	if shift.Rate != nil {
		rate = *shift.Rate
	}
	if err == nil && (rate <= 0 || rate > 1000) {
		err = errors.New("rate: more than 0, at most 1000")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.clock.shift(shift.OffsetMs, rate)
	w.WriteHeader(http.StatusNoContent)
}

func readHook(r *http.Request, into any) error {
	d := json.NewDecoder(io.LimitReader(r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	return nil
}
