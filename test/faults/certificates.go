package faults

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	native "github.com/seriatimq/seriatim/transport/grpc/client"
)

// renewEvery is the interval between renewals of the nodes' certificates, one node at a time.
const renewEvery = 3 * time.Second

// access has the credentials of clients: TLS and the key that signs requests. Nil means clear
// text and unsigned requests. Immutable.
type access struct {
	tls    *tls.Config
	key    *native.Key
	queues *sigv4.Signer
	topics *sigv4.Signer
}

// secure prepares a run with TLS: it makes the certificates of the nodes, for each other and for
// clients, and the access key of the clients. The nodes then accept only signed requests.
func (s *testbed) secure(r Run) error {
	if !r.TLS {
		return nil
	}
	dir := filepath.Join(r.Dir, "certificates")
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clear away an earlier run: %w", err)
	}
	authority, err := harness.NewAuthority(r.Binary, dir)
	if err != nil {
		return err
	}
	config, err := authority.Client()
	if err != nil {
		return err
	}
	key := filepath.Join(dir, "first-key")
	if err := harness.WriteFirstKey(key); err != nil {
		return err
	}
	signer := func(service string) *sigv4.Signer {
		return &sigv4.Signer{KeyID: harness.AccessKeyID, Secret: harness.SecretAccessKey, Region: harness.Region, Service: service,
			Now: time.Now}
	}
	s.access = &access{
		tls: config, key: &native.Key{ID: harness.AccessKeyID, Secret: harness.SecretAccessKey, Region: harness.Region},
		queues: signer("sqs"), topics: signer("sns"),
	}
	s.place.Authority, s.place.Args = authority, slices.Concat(s.place.Args, []string{"--auth=true", "--first-key-file", key})
	return nil
}

// checkAccess checks that every node of a run with TLS refuses unsigned requests. Otherwise the run
// would not test signatures.
func (s *testbed) checkAccess(ctx context.Context) error {
	if s.access == nil {
		return nil
	}
	web := http.Client{Timeout: tryTimeout, Transport: &http.Transport{TLSClientConfig: s.access.config(), DisableKeepAlives: true}}
	for _, n := range s.cluster.Nodes {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.access.scheme()+"://"+n.Client+"/", strings.NewReader("{}"))
		if err != nil {
			return fmt.Errorf("ask %s without a signature: %w", n.Name, err)
		}
		request.Header.Set("Content-Type", "application/x-amz-json-1.0")
		request.Header.Set("X-Amz-Target", "AmazonSQS.ListQueues")
		response, err := web.Do(request)
		if err != nil {
			return fmt.Errorf("ask %s without a signature: %w", n.Name, err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			return fmt.Errorf("%s answers a request without a signature with HTTP %d, not with 403", n.Name, response.StatusCode)
		}
	}
	return nil
}

// scheme is that of the URLs of the client ports.
func (a *access) scheme() string {
	if a == nil {
		return "http"
	}
	return "https"
}

// config is that of connections, nil for clear text.
func (a *access) config() *tls.Config {
	if a == nil {
		return nil
	}
	return a.tls.Clone()
}

// sign signs a request that is otherwise complete.
func (a *access) sign(request *http.Request, body string) {
	switch {
	case a == nil:
	case request.Header.Get("X-Amz-Target") != "":
		a.queues.Sign(request, body)
	default:
		a.topics.Sign(request, body)
	}
}

// native are the options of connections of the native API.
func (a *access) native() []grpc.DialOption {
	if a == nil {
		return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	}
	return append(native.Signing(a.key, a.tls.ServerName), grpc.WithTransportCredentials(credentials.NewTLS(a.config())))
}

// renewCertificates replaces the certificates of the nodes, one node at a time, until ctx ends,
// also during faults. If a node cannot be reached afterwards, the checkers find this in the
// history.
func (s *testbed) renewCertificates(ctx context.Context) error {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		node := s.cluster.Nodes[i%len(s.cluster.Nodes)].Name
		if err := s.place.Authority.Renew(node); err != nil {
			return err
		}
		s.observe("certificate renewed", node, 1)
	}
}
