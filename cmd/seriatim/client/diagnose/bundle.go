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

// parts lists the files of each node in a bundle. They contain no message bodies, keys and tokens,
// but names of queues, addresses and paths.
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

// WriteBundle writes a tar.gz with the parts of all members of the cluster: the given nodes, and
// the members that these report. It returns the missing parts, which the bundle lists, too. The
// error is ErrNobody if no part could be read, or a failed write to out.
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
	if err := add("tool.txt",
		fmt.Appendf(nil, "seriatim %s, %s\nnodes: %s\n", version, now.UTC().Format(time.RFC3339),
			strings.Join(addresses, ", "))); err != nil {
		return nil, err
	}
	got := 0
	for i, address := range addresses {
		directory := fmt.Sprintf("node-%d/", i+1)
		for _, part := range parts {
			status, body, err := nodes.Get(ctx, address, part.path)
			if ctx.Err() != nil {
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

// everyMember returns the given addresses and the addresses of the other members. missing lists
// the members that cannot be reached.
func everyMember(ctx context.Context, nodes Nodes) (addresses, missing []string) {
	addresses = slices.Clone(nodes.Addresses())
	var seen []string // node ids
	for _, address := range addresses {
		if id, err := nodeAt(ctx, nodes, address); err == nil {
			seen = append(seen, id)
		}
	}
	c, err := Ask(ctx, nodes)
	if err != nil { // only the given addresses are known
		return addresses, nil
	}
	for _, m := range c.Members {
		if slices.Contains(seen, m.NodeID) {
			continue
		}
		id, err := "", errors.New("it does not announce the address of its admin port")
		if m.Admin != "" {
			id, err = nodeAt(ctx, nodes, m.Admin)
		}
		if err == nil && id != m.NodeID {
			err = fmt.Errorf("%s is the admin port of %s", m.Admin, id)
		}
		if err != nil {
			missing = append(missing, fmt.Sprintf("all files of %s: %v; name its admin port with --admin", m.Name, err))
			continue
		}
		addresses = append(addresses, m.Admin)
	}
	return addresses, missing
}

// nodeAt returns the id of the node with an admin address.
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
