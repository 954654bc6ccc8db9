package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
)

//go:embed static
var staticFiles embed.FS

// staticTypes has the types of static files, which must not depend on the machine.
var staticTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// serveStatic serves an embedded file. Browsers keep it, and ask whether it has changed.
func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	content, err := fs.ReadFile(staticFiles, "static/"+name)
	kind := staticTypes[path.Ext(name)]
	if err != nil || kind == "" {
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	}
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(content) // an error means that the browser is gone
}
