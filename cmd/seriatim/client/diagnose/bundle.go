package diagnose

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// parts are what a bundle has of each node. Nothing of it holds a body of a message, a
// key or a token: names of queues, addresses and paths of files are the most private.
var parts = []struct{ file, path string }{
	{"status.json", "/v1/status"},
	{"members.json", "/v1/cluster/members"},
	{"upgrade.json", "/v1/upgrade"},
	{"ready.txt", "/readyz"},
	{"metrics.txt", "/metrics"},
	{"config.yaml", "/v1/debug/config"},
	{"log.txt", "/v1/debug/log"},
	{"goroutines.txt", "/v1/debug/goroutine"},
	{"heap.pprof", "/v1/debug/heap"},
}

// WriteBundle writes what all nodes tell of themselves as a tar.gz. A part that a node
// does not give is named in missing, and in the bundle; its error is ErrNobody
// if nothing could be had at all, or that out cannot be written.
func WriteBundle(ctx context.Context, out io.Writer, nodes Nodes, version string, now time.Time) (missing []string, err error) {
	packed := gzip.NewWriter(out)
	archive := tar.NewWriter(packed)
	add := func(name string, content []byte) error {
		head := &tar.Header{Name: "seriatim-debug/" + name, Mode: 0o600, Size: int64(len(content)), ModTime: now}
		if err := archive.WriteHeader(head); err != nil {
			return err
		}
		_, err := archive.Write(content)
		return err
	}
	if err := add("tool.txt", fmt.Appendf(nil, "seriatim %s, %s\nnodes: %s\n", version, now.UTC().Format(time.RFC3339), strings.Join(nodes.Addresses(), ", "))); err != nil {
		return nil, err
	}
	got := 0
	for i, address := range nodes.Addresses() {
		directory := fmt.Sprintf("node-%d/", i+1)
		for _, part := range parts {
			status, body, err := nodes.Get(ctx, address, part.path)
			if ctx.Err() != nil { // somebody ended it, and does not want a file that lacks the rest
				return missing, ctx.Err()
			}
			if err == nil && status != http.StatusOK && part.file != "ready.txt" {
				err = fmt.Errorf("%d: %s", status, sentence(body))
			}
			if err != nil {
				missing = append(missing, fmt.Sprintf("%s of %s: %v", part.file, address, err))
				continue
			}
			if err := add(directory+part.file, body); err != nil {
				return missing, err
			}
			got++
		}
		if err := add(directory+"address.txt", []byte(address+"\n")); err != nil {
			return missing, err
		}
	}
	if err := add("missing.txt", []byte(strings.Join(missing, "\n")+"\n")); err != nil {
		return missing, err
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		return missing, err
	}
	if got == 0 {
		return missing, errors.Join(ErrNobody, errors.New(strings.Join(missing, "; ")))
	}
	return missing, nil
}
