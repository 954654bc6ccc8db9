package ops

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/seriatimq/seriatim/transport/ops/exposition"
)

// scraper serves /metrics: the registry, then the series of queues, which are too many for it. It serves one
// scrape at a time to bound the memory.
type scraper struct {
	admin    *Admin
	registry prometheus.Gatherer

	mu   sync.Mutex // held during a scrape
	text exposition.Text
}

// ServeHTTP answers a scrape.
func (s *scraper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", exposition.ContentType)
	packed := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	s.mu.Lock()
	body := s.scrape()
	if packed {
		body = compressed(body)
	} else {
		body = bytes.Clone(body)
	}
	s.mu.Unlock()
	// An error means that the caller is gone.
	_, _ = w.Write(body)
}

// scrape returns the document, which is valid until the next scrape.
func (s *scraper) scrape() []byte {
	families, err := s.registry.Gather()
	if err != nil {
		// The other metrics are still useful.
		s.admin.Logger.Error("some metrics could not be collected", "error", err)
	}
	plain := bytes.NewBuffer(s.text.Bytes[:0])
	for _, family := range families {
		_, _ = expfmt.MetricFamilyToText(plain, family) // a buffer never fails
	}
	s.text.Bytes = plain.Bytes()
	s.admin.queueGauges(&s.text)
	s.admin.queueCounters(&s.text)
	return s.text.Bytes
}

// compressed compresses a document at the fastest level.
func compressed(body []byte) []byte {
	var out bytes.Buffer
	packer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil // the level is valid
	}
	_, _ = packer.Write(body) // a buffer never fails
	_ = packer.Close()
	return out.Bytes()
}
