//go:build faults

package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// steppedClock is a clock that a test moves.
type steppedClock struct{ mono time.Duration }

func (c *steppedClock) Wall() time.Time          { return time.Unix(1000, 0).Add(c.mono) }
func (c *steppedClock) Monotonic() time.Duration { return c.mono }

func TestShiftedClock(t *testing.T) {
	right := &steppedClock{}
	c := newShiftedClock(right)
	want := func(what string, wall, mono time.Duration) {
		t.Helper()
		if got := c.Wall().Sub(time.Unix(1000, 0)); got != wall {
			t.Errorf("%s: the wall clock is at %v, want %v", what, got, wall)
		}
		if got := c.Monotonic(); got != mono {
			t.Errorf("%s: the monotonic clock is at %v, want %v", what, got, mono)
		}
	}
	right.mono = 10 * time.Second
	want("before", 10*time.Second, 10*time.Second)
	c.shift(-5000, 1)
	want("behind", 5*time.Second, 10*time.Second)
	right.mono = 12 * time.Second
	want("behind, later", 7*time.Second, 12*time.Second)
	c.shift(0, 2)
	right.mono = 15 * time.Second
	want("at double speed", 18*time.Second, 18*time.Second)
	c.shift(0, 1)
	want("right again", 15*time.Second, 18*time.Second)
}

// countedSnapshots is a node that can write one snapshot.
type countedSnapshots struct{ written int }

func (s *countedSnapshots) Snapshot(context.Context) error {
	if s.written++; s.written > 1 {
		return errors.New("the disk is full")
	}
	return nil
}

func TestHooksOfTheAdminPort(t *testing.T) {
	h := hooks{clock: newShiftedClock(&steppedClock{})}
	behind := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	node := &countedSnapshots{}
	handler := h.operators(behind, node)
	cases := []struct {
		name, method, path, body string
		want                     int
	}{
		{"a clock", "PUT", "/v1/clock", `{"offsetMs":-5,"rate":0.5}`, http.StatusNoContent},
		{"a clock that stands", "PUT", "/v1/clock", `{"rate":0}`, http.StatusBadRequest},
		{"an unknown field", "PUT", "/v1/clock", `{"offset":3}`, http.StatusBadRequest},
		{"a snapshot", "POST", "/v1/snapshot", "", http.StatusNoContent},
		{"a second one, which fails", "POST", "/v1/snapshot", "", http.StatusServiceUnavailable},
		{"everything else", "GET", "/v1/status", "", http.StatusTeapot},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
			if w.Code != c.want {
				t.Errorf("HTTP %d, want %d: %s", w.Code, c.want, w.Body)
			}
		})
	}
}

func TestOperationIDsAreShortAndPlain(t *testing.T) {
	for id, want := range map[string]bool{"": true, "17.2": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
		"a\x01": false, "é": false} {
		if got := isOperationID(id); got != want {
			t.Errorf("%q: %v, want %v", id, got, want)
		}
	}
}

func TestATapGoesOnBehindAHalfLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tap")
	if err := os.WriteFile(path, []byte("{\"index\":1}\n{\"ind"), 0o600); err != nil {
		t.Fatal(err)
	}
	tap, err := openTap(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tap.Write([]byte("{\"index\":2}\n")); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(content), "{\"index\":1}\n{\"ind\n{\"index\":2}\n"; got != want {
		t.Errorf("the tap holds %q, want %q", got, want)
	}
}

func TestHookVariablesAreKnown(t *testing.T) {
	if _, err := environmentLayer([]string{"SERIATIM_TAP=x"}); err != nil {
		t.Error(err)
	}
	if _, err := environmentLayer([]string{"SERIATIM_TAPE=x"}); err == nil {
		t.Error("an unknown variable was taken")
	}
}
