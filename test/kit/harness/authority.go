package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Authority makes certificates for the nodes and their gossip key, with the commands of the
// program. Safe for concurrent use.
type Authority struct {
	binary, dir string

	mu     sync.Mutex
	issued map[string]bool // by name of the node
}

// NewAuthority makes an authority in a folder that does not exist yet.
func NewAuthority(binary, dir string) (*Authority, error) {
	a := &Authority{binary: binary, dir: dir, issued: map[string]bool{}}
	return a, a.run("ca")
}

func (a *Authority) run(args ...string) error {
	args = append(append([]string{"cert"}, args...), "--dir", a.dir)
	if out, err := exec.Command(a.binary, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", a.binary, args, err, out)
	}
	return nil
}

// environment returns the settings that the nodes of a cluster share: certificates, or the
// setting that they need none. Their admin ports need no token unless the test gives them a file of tokens.
func (o Options) environment(node string) ([]string, error) {
	var own []string
	if o.Env != nil {
		own = o.Env(node)
	}
	own = append(own, "SERIATIM_INSECURE_ADMIN=true")
	if o.Authority != nil {
		trust, err := o.Authority.Environment(node)
		return append(trust, own...), err
	}
	return append(own, "SERIATIM_INSECURE_PEERS=true"), nil
}

// Environment returns the variables of a node that uses this authority. The node's certificate is
// made at the first call.
func (a *Authority) Environment(node string) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.issued[node] {
		if err := a.run("issue", node, "--host", clientHost); err != nil {
			return nil, err
		}
		a.issued[node] = true
	}
	return []string{
		"SERIATIM_PEER_CA=" + a.File("ca.crt"), "SERIATIM_PEER_CERT=" + a.File(node+".crt"), "SERIATIM_PEER_KEY=" + a.File(node+".key"),
		"SERIATIM_GOSSIP_KEY_FILE=" + a.File("gossip.key"),
	}, nil
}

// Renew renews the certificate of a node, as an operator does.
func (a *Authority) Renew(node string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run("renew", node)
}

// Expire replaces the certificate of a node by one that has ended.
func (a *Authority) Expire(ctx context.Context, node string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	const valid = time.Second
	if err := errors.Join(os.Remove(a.File(node+".crt")), os.Remove(a.File(node+".key"))); err != nil {
		return err
	}
	if err := a.run("issue", node, "--host", clientHost, "--valid", valid.String()); err != nil {
		return err
	}
	end := time.NewTimer(2 * valid) // certificates count whole seconds
	defer end.Stop()
	select {
	case <-end.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// clientHost is a host name in every certificate, whichever address a node has.
const clientHost = "127.0.0.1"

// ClientEnvironment returns the variables of a node with TLS on its client port, which uses the
// node's certificate. Environment must have been called for the node.
func (a *Authority) ClientEnvironment(node string) []string {
	return []string{"SERIATIM_TLS_CERT=" + a.File(node+".crt"), "SERIATIM_TLS_KEY=" + a.File(node+".key")}
}

// Client returns the TLS configuration of clients that trust this authority.
func (a *Authority) Client() (*tls.Config, error) {
	text, err := os.ReadFile(a.File("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", a.File("ca.crt"))
	}
	return &tls.Config{RootCAs: roots, ServerName: clientHost, MinVersion: tls.VersionTLS12}, nil
}

// File returns the path of a file of the authority: ca.crt, or NAME.crt and NAME.key of a node.
func (a *Authority) File(name string) string { return filepath.Join(a.dir, name) }
