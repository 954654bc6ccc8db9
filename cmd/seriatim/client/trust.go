package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

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
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var alert tls.AlertError
	hint := ""
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return exit.New(exit.Unavailable, fmt.Errorf("%s answers without TLS", address), "write it with http:// instead of https://")
	case errors.As(err, &authority):
		hint = "name the file with the certificate of its authority: --ca-file FILE"
	case errors.As(err, &name):
		hint = "use a host name or address for which the certificate was issued"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		hint = "renew the certificate, unless the clock of this machine is wrong"
	case errors.As(err, &verification):
	case errors.As(err, &alert):
	default:
		return nil
	}
	return exit.New(exit.Unavailable, fmt.Errorf("no secure connection to %s: %w", address, cause(err)), hint)
}

// cause removes the method and URL that net/http adds, because the caller names the address.
func cause(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
