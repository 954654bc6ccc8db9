package diagnose

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// parts are what a bundle has of each node. Nothing of it holds a body of a message, a
// key or a token: names of queues, addresses and paths of files are the most private.
var parts = []struct{ file, path string }{
	{"status.json", statusPath},
	{"members.json", membersPath},
	{"upgrade.json", "/v1/upgrade"},
	{"ready.txt", "/readyz"},
	{"metrics.txt", "/metrics"},
	{"config.yaml", "/v1/debug/config"},
	{"log.txt", "/v1/debug/log"},
	{"goroutines.txt", "/v1/debug/goroutine"},
	{"heap.pprof", "/v1/debug/heap"},
}

const statusPath = "/v1/status"

// WriteBundle writes what all members of the cluster tell of themselves as a tar.gz: the
// nodes that were named, and those that they name. A part that a node does not give is named
// in missing, and in the bundle; its error is ErrNobody if nothing could be had at all, or
// that out cannot be written.
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
	addresses, missing := everyMember(ctx, nodes)
	if err := add("tool.txt", fmt.Appendf(nil, "seriatim %s, %s\nnodes: %s\n", version, now.UTC().Format(time.RFC3339), strings.Join(addresses, ", "))); err != nil {
		return nil, err
	}
	got := 0
	for i, address := range addresses {
		directory := fmt.Sprintf("node-%d/", i+1)
		for _, part := range parts {
			status, body, err := nodes.Get(ctx, address, part.path)
			if ctx.Err() != nil { // a file that lacks the rest is of no use
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

// everyMember are the addresses that were named, and those of the members that are not among
// them. A member that cannot be reached at the address it tells is named in missing.
func everyMember(ctx context.Context, nodes Nodes) (addresses, missing []string) {
	addresses = slices.Clone(nodes.Addresses())
	var seen []string // node ids
	for _, address := range addresses {
		if id, err := nodeAt(ctx, nodes, address); err == nil {
			seen = append(seen, id)
		}
	}
	c, err := Ask(ctx, nodes)
	if err != nil { // the named ones are what there is
		return addresses, nil
	}
	for _, m := range c.Members {
		if slices.Contains(seen, m.NodeID) {
			continue
		}
		id, err := "", errors.New("it does not tell the address of its admin port")
		if m.Admin != "" {
			id, err = nodeAt(ctx, nodes, m.Admin)
		}
		if err == nil && id != m.NodeID {
			err = fmt.Errorf("%s is the admin port of %s", m.Admin, id)
		}
		if err != nil {
			missing = append(missing, fmt.Sprintf("everything of %s: %v; name its admin port with --admin", m.Name, err))
			continue
		}
		addresses = append(addresses, m.Admin)
	}
	return addresses, missing
}

// nodeAt is the id of the node whose admin port has an address.
func nodeAt(ctx context.Context, nodes Nodes, address string) (id string, err error) {
	var s struct{ NodeID string }
	status, body, err := nodes.Get(ctx, address, statusPath)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %s", address, status, sentence(body))
	}
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	return s.NodeID, err
}
