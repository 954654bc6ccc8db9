package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster"
)

// Status is the answer to GET /v1/status.
type Status = cluster.Status

// pollEvery is the interval between checks of another process, which offers no event to wait
// for.
const pollEvery = 50 * time.Millisecond

// Status asks the node for its status.
func (n *Node) Status(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	body, err := n.get(ctx, "/v1/status")
	if err != nil {
		return Status{}, err
	}
	var s Status
	if err := json.Unmarshal(body, &s); err != nil {
		return Status{}, fmt.Errorf("status of %s: %w", n.Name, err)
	}
	return s, nil
}

// Ready returns nil if GET /healthz/ready answers 200, otherwise the reason.
func (n *Node) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := n.get(ctx, "/healthz/ready")
	return err
}

// Metrics returns the text of GET /metrics.
func (n *Node) Metrics(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := n.get(ctx, "/metrics")
	return string(body), err
}

// Get returns the body of a GET on the admin port.
func (n *Node) Get(ctx context.Context, path string) ([]byte, error) { return n.get(ctx, path) }

func (n *Node) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Admin+path, nil)
	if err != nil {
		return nil, fmt.Errorf("get %s of %s: %w", path, n.Name, err)
	}
	// A connection to a paused or killed node must not stay in a pool.
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("get %s of %s: %w", path, n.Name, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("get %s of %s: %w", path, n.Name, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s of %s: HTTP %d %s", path, n.Name, response.StatusCode, strings.TrimSpace(string(body)))
	}
	return body, nil
}

// WaitReady waits until the node is ready, or its process ends.
func (n *Node) WaitReady(ctx context.Context, within time.Duration) error {
	return poll(ctx, within, func() error {
		if p := n.current(); p == nil || p.gone() {
			return permanent{fmt.Errorf("%s is not running", n.Name)}
		}
		return n.Ready(ctx)
	})
}

// permanent is an error for which waiting is useless.
type permanent struct{ err error }

func (p permanent) Error() string { return p.err.Error() }

func (p permanent) Unwrap() error { return p.err }

// poll calls check until it returns nil, or returns the last error at the end of the time.
func poll(ctx context.Context, within time.Duration, check func() error) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := check()
		if err == nil || errors.As(err, new(permanent)) {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return fmt.Errorf("not within %v: %w", within, err)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}
