package ops

import (
	"bytes"
	"io"
	"net/http"
	"runtime/pprof"
)

// profiles lists profiles of the runtime that are cheap and contain no messages.
var profiles = map[string]int{"goroutine": 1, "heap": 0} // name and debug level: text, or the format of pprof

// debug serves a profile or another part of the debugging information.
func (a *Admin) debug(w http.ResponseWriter, r *http.Request) {
	what := r.PathValue("what")
	show, known := a.Debug[what]
	if form, profile := profiles[what]; profile {
		show, known = func(out io.Writer) error { return pprof.Lookup(what).WriteTo(out, form) }, true
	}
	if !known {
		a.fail(w, http.StatusNotFound, "this node does not show "+what)
		return
	}
	var content bytes.Buffer
	if err := show(&content); err != nil {
		a.fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	// An error means that the caller is gone.
	_, _ = w.Write(content.Bytes())
}
