package ops

import (
	"bytes"
	"io"
	"net/http"
	"runtime/pprof"
)

// profiles are those of the runtime that are cheap to take and hold nothing of messages:
// where goroutines stand, and which code allocated the memory in use.
var profiles = map[string]int{"goroutine": 1, "heap": 0} // by name, with the form: text, or as the tool wants it

// debug shows one thing about the process: a profile, its settings, the end of its log.
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
