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

// scraper serves /metrics: what the registry has, and then the series of queues, which
// are too many to go through it. One scrape is made at a time, so that several programs
// that ask at once take no more memory than one.
type scraper struct {
	admin    *Admin
	registry prometheus.Gatherer

	mu   sync.Mutex // held while a scrape is made
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

// scrape makes the document; it counts until the next one is made.
func (s *scraper) scrape() []byte {
	families, err := s.registry.Gather()
	if err != nil {
		// What could be gathered is worth more than nothing.
		s.admin.Logger.Error("some metrics could not be collected", "error", err)
	}
	plain := bytes.NewBuffer(s.text.Bytes[:0])
	for _, family := range families {
		_, _ = expfmt.MetricFamilyToText(plain, family) // a buffer takes everything
	}
	s.text.Bytes = plain.Bytes()
	s.admin.queueGauges(&s.text)
	s.admin.queueCounters(&s.text)
	return s.text.Bytes
}

// compressed packs a document as fast as can be: the network of a scrape is near.
func compressed(body []byte) []byte {
	var out bytes.Buffer
	packer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil // there is such a level
	}
	_, _ = packer.Write(body) // a buffer takes everything
	_ = packer.Close()
	return out.Bytes()
}
