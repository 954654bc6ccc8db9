package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

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
