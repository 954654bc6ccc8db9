package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// answerBytesMax bounds one answer of the admin port.
const answerBytesMax = 64 << 20

// wire sends single requests to the admin port of a cluster, and holds the settings for the client
// port. Safe for concurrent use.
type wire struct {
	api   native.Options // of the client port
	admin *port
	token string // for the admin port; empty: none
	// ownTokens holds the tokens of nodes on this machine, by host:port, see learnToken.
	ownTokens *sync.Map
	timeout   time.Duration // for one request, over all nodes
	http      *http.Client
}

// qualified returns qualifiedOf, with the account of --account unless text has one.
func (w *wire) qualified(text string) string {
	name := qualifiedOf(text)
	if strings.Contains(name, "/") || w.api.Account == "" {
		return name
	}
	return w.api.Account + "/" + name
}

// adminError is a refusal by the admin port.
type adminError struct {
	status  int
	message string
}

// Error returns the text of the server.
func (e *adminError) Error() string { return e.message }

// get reads one JSON document of the admin port.
func (w *wire) get(ctx context.Context, path string, query url.Values, out any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return w.ask(ctx, http.MethodGet, path, nil, out)
}

// post sends one JSON document to the admin port.
func (w *wire) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return w.ask(ctx, http.MethodPost, path, body, out)
}

func (w *wire) ask(ctx context.Context, method, path string, body []byte, out any) error {
	got, err := w.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		return adminRefusal(got)
	}
	if err := json.Unmarshal(got.body, out); err != nil {
		return exit.New(exit.Failed, fmt.Errorf("%s%s: unreadable answer: %w", got.from, path, err), adminHint)
	}
	return nil
}

// single returns an error if several nodes are given to a command about one node.
func (w *wire) single(cmd *cobra.Command) error {
	if len(w.admin.addresses) == 1 {
		return nil
	}
	return exit.New(exit.Usage, fmt.Errorf("%s is about one node, and %d are given", cmd.CommandPath(), len(w.admin.addresses)),
		"name its admin port alone: --admin "+w.admin.addresses[0])
}

const adminHint = "is the server running there? set --admin or SERIATIM_ADMIN to the admin port of a node, or start one with: seriatim dev"

// adminRefusal explains an answer of the admin port other than 200.
func adminRefusal(a answer) error {
	if a.status >= 300 && a.status < 400 {
		return exit.New(exit.Usage, fmt.Errorf("%s redirects to %s, so it is not a node", a.from, a.header.Get("Location")),
			"name the address of a node or of its proxy with --admin, with https:// if it has TLS")
	}
	var refused document.Refusal
	unreadable := json.Unmarshal(a.body, &refused)
	switch {
	case unreadable != nil && a.status == http.StatusNotFound:
		return exit.New(exit.Usage, fmt.Errorf("%s is not the admin port of a node (it answers %s)", a.from, shortly(a)),
			"set --admin or SERIATIM_ADMIN to an admin port, by default 9325; if it is one, the node runs an older version")
	case strings.Contains(string(a.body), "HTTP request to an HTTPS server"): // of a port with TLS
		return exit.New(exit.Unavailable, fmt.Errorf("the admin port %s has TLS", a.from),
			"name it: --admin "+strings.Replace(a.from, "http:", "https:", 1))
	case refused.Error == "":
		refused.Error = shortly(a)
	}
	e := &adminError{a.status, refused.Error}
	switch {
	case a.status == http.StatusNotFound:
		return exit.New(exit.NotFound, e, refused.Hint)
	case refused.Kind != "":
		return exit.New(exit.Conflict, e, refused.Hint)
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		return exit.New(exit.Denied, e, "")
	case a.status == http.StatusServiceUnavailable && strings.Contains(e.message, "sends are refused"):
		return exit.New(exit.Unavailable, e, native.PressureHint)
	case a.status == http.StatusServiceUnavailable:
		return exit.New(exit.Unavailable, e, native.LeaderHint)
	case a.status >= 400 && a.status < 500:
		return exit.New(exit.Usage, e, "")
	}
	return exit.New(exit.Failed, e, "")
}

// shortly returns the beginning of an unknown answer.
func shortly(a answer) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(a.body)), "\n")
	if len(line) > 80 {
		line = line[:80] + " ..."
	}
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.status, output.Harmless(line)))
}

// trustedBy returns the TLS configuration that trusts the authorities of the system, and those in
// the file if it is not empty.
func trustedBy(file string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file == "" {
		return config, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, exit.New(exit.Usage, fmt.Errorf("--ca-file: %w", err), "")
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, exit.New(exit.Usage, fmt.Errorf("--ca-file %s holds no certificate", file),
			"it must be in PEM form, beginning with -----BEGIN CERTIFICATE-----")
	}
	config.RootCAs = pool
	return config, nil
}

// tlsFailure explains the failure of a secure connection. It returns nil for other errors.
func tlsFailure(address string, err error) error {
	text := cause(err).Error()
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return exit.New(exit.Unavailable, fmt.Errorf("%s answers without TLS", address), "write it with http:// instead of https://")
	case strings.Contains(text, "tls: "), strings.Contains(text, "x509: "):
		return exit.New(exit.Unavailable, fmt.Errorf("no secure connection to %s: %w", address, cause(err)), native.CertificateHint(text))
	}
	return nil
}

// cause removes the method and URL that net/http adds, because the caller names the address.
func cause(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
