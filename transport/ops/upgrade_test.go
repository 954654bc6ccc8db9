package ops

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
)

// upgradedNode answers only questions about the upgrade.
type upgradedNode struct {
	Node
	err error
}

func (n upgradedNode) Upgrade() cluster.Upgrade {
	return cluster.Upgrade{FormatVersion: 1, Possible: 2}
}

func (n upgradedNode) FinalizeUpgrade(context.Context) (cluster.Upgrade, error) {
	return cluster.Upgrade{FormatVersion: 2}, n.err
}

func TestUpgradeEndpoints(t *testing.T) {
	refused := &cluster.MembershipRefusal{Kind: cluster.RefusedUnsafe, Text: "an older program runs on n2", Hint: "upgrade it"}
	tests := []struct {
		name, request, media string
		err                  error
		status               int
		want                 string
	}{
		{"look", "GET /v1/upgrade", "", nil, http.StatusOK, `"possible": 2`},
		{"finalize", "POST /v1/upgrade/finalize", contentTypeJSON, nil, http.StatusOK, `"formatVersion": 2`},
		{"finalize from a page in a browser", "POST /v1/upgrade/finalize", "text/plain", nil, http.StatusUnsupportedMediaType,
			"content type"},
		{"finalize too early", "POST /v1/upgrade/finalize", contentTypeJSON, refused, http.StatusConflict, `"hint": "upgrade it"`},
		{"finalize without a leader", "POST /v1/upgrade/finalize", contentTypeJSON, cluster.ErrUnavailable,
			http.StatusServiceUnavailable, "no leader"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			admin := New(Options{Node: upgradedNode{err: tt.err}, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
			method, path, _ := strings.Cut(tt.request, " ")
			request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("{}"))
			request.Header.Set("Content-Type", tt.media)
			w := httptest.NewRecorder()
			admin.ServeHTTP(w, request)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("got %d\n%s", w.Code, w.Body)
			}
		})
	}
}
