package transport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func listen(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.Addr, cfg.Logger, cfg.Now = "127.0.0.1:0", quiet(), time.Now
	s, err := Listen(t.Context(), cfg)
	clustertest.Must(t, err)
	return s
}

func shutdown(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	clustertest.Check(t, s.Shutdown(ctx))
}

// client returns a client of one version of HTTP.
func client(t *testing.T, major int, secure *tls.Config) *http.Client {
	t.Helper()
	var protocols http.Protocols
	protocols.SetHTTP1(major == 1)
	protocols.SetUnencryptedHTTP2(major == 2 && secure == nil)
	protocols.SetHTTP2(major == 2 && secure != nil)
	transport := &http.Transport{Protocols: &protocols, TLSClientConfig: secure}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestProtocols(t *testing.T) {
	shown, pool := certificate(t)
	for _, tc := range []struct {
		name   string
		major  int
		secure bool
	}{
		{"HTTP/1.1", 1, false}, {"HTTP/2 without TLS", 2, false}, {"HTTP/1.1 with TLS", 1, true}, {"HTTP/2 with TLS", 2, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				_, _ = w.Write([]byte(r.Proto + " " + string(body)))
			})}
			scheme := "http://"
			var secure *tls.Config
			if tc.secure {
				cfg.TLS, scheme = shown, "https://"
				secure = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
			}
			s := listen(t, cfg)
			c := client(t, tc.major, secure)
			response, err := c.Post(scheme+s.Addr().String()+"/", "text/plain", strings.NewReader("hello"))
			clustertest.Must(t, err)
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.ProtoMajor != tc.major || !strings.HasSuffix(string(body), " hello") {
				t.Errorf("got %s %q, %v", response.Proto, body, err)
			}
			c.CloseIdleConnections()
			shutdown(t, s)
		})
	}
}

// TestPlainRequests checks that http1 serves plain requests over TLS, too, and that a connection
// keeps its TLS when it is handed over.
func TestPlainRequests(t *testing.T) {
	shown, pool := certificate(t)
	for _, secure := range []bool{false, true} {
		cfg := Config{Budget: budget.New(64 << 20), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ours := fmt.Sprintf("%T", w) == "*http1.answer"
			body, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, "%v %v %d %v", ours, r.TLS != nil, len(body), err)
		})}
		scheme, c := "http://", client(t, 1, nil)
		if secure {
			cfg.TLS, scheme = shown, "https://"
			c = client(t, 1, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})
		}
		s := listen(t, cfg)
		url := scheme + s.Addr().String()
		large := strings.Repeat("l", 3<<20)
		for i, one := range []struct {
			method, path, body string
			plain              bool
		}{
			{http.MethodPost, "/", "x", true},
			{http.MethodPost, "/", large, true},
			{http.MethodPost, "/?a=b", large, false},
			{http.MethodPost, "/", "x", false}, // the same connection
			{http.MethodGet, "/", "", false},
		} {
			request, err := http.NewRequestWithContext(t.Context(), one.method, url+one.path, strings.NewReader(one.body))
			clustertest.Must(t, err)
			response, err := c.Do(request)
			clustertest.Must(t, err)
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if want := fmt.Sprintf("%v %v %d <nil>", one.plain, secure, len(one.body)); err != nil || string(body) != want {
				t.Errorf("request %d with TLS %v: got %s, %v, want %s", i, secure, body, err, want)
			}
		}
		c.CloseIdleConnections()
		shutdown(t, s)
		if used := s.Connections().Memory; used.Used != 0 || used.Refused != 0 {
			t.Errorf("left %+v", used)
		}
	}
}

func certificate(t *testing.T) (shown *tls.Config, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	clustertest.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	clustertest.Must(t, err)
	made, err := x509.ParseCertificate(der)
	clustertest.Must(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(made)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, pool
}

func TestListenRefuses(t *testing.T) {
	for name, cfg := range map[string]Config{
		"bad address": {Addr: "127.0.0.1:http:x"},
	} {
		cfg.Logger = quiet()
		if s, err := Listen(t.Context(), cfg); err == nil {
			t.Errorf("%s: no error", name)
			shutdown(t, s)
		}
	}
}

func TestShutdownEndsWaits(t *testing.T) {
	started, drained := make(chan struct{}), make(chan struct{})
	s := listen(t, Config{
		OnShutdown: func() { close(drained) },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(started)
			<-drained
			w.WriteHeader(http.StatusServiceUnavailable)
		}),
	})
	status := make(chan int, 1) // the one answer
	c := client(t, 1, nil)
	go func() {
		response, err := c.Get("http://" + s.Addr().String())
		if err != nil {
			status <- 0
			return
		}
		response.Body.Close()
		status <- response.StatusCode
	}()
	<-started
	shutdown(t, s)
	if got := <-status; got != http.StatusServiceUnavailable {
		t.Errorf("got %d", got)
	}
	c.CloseIdleConnections()
}

func TestConnectionLimit(t *testing.T) {
	s := listen(t, Config{ConnectionsMax: 1, Handler: http.NotFoundHandler()})
	first, err := net.Dial("tcp", s.Addr().String())
	clustertest.Must(t, err)
	clustertest.Must(t, clustertest.Err(first.Write([]byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n"))))
	clustertest.Must(t, clustertest.Err(first.Read(make([]byte, 1))))
	second := make(chan error, 1) // the one answer
	c := client(t, 1, nil)
	go func() {
		response, err := c.Get("http://" + s.Addr().String())
		if err == nil {
			response.Body.Close()
		}
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatalf("a second connection was served: %v", err)
	default:
	}
	first.Close()
	if now := s.Connections(); now.Limit != 1 || now.Held == 0 {
		t.Errorf("counted %+v", now)
	}
	if err := <-second; err != nil {
		t.Errorf("the connection was not served after the first ended: %v", err)
	}
	c.CloseIdleConnections()
	shutdown(t, s)
}

type recorder struct {
	mu   sync.Mutex
	seen []service.Request
}

func (r *recorder) Observe(request *service.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, *request)
}

func TestMiddleware(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		status  int
		code    string
	}{
		{"success", func(w http.ResponseWriter, r *http.Request) {
			request := service.RequestOf(r.Context())
			request.Action = "Do"
			_, _ = w.Write([]byte(request.ID))
		}, 200, ""},
		{"error", func(w http.ResponseWriter, r *http.Request) {
			service.RequestOf(r.Context()).Code = "Bad"
			w.WriteHeader(400)
		}, 400, "Bad"},
		{"panic", func(http.ResponseWriter, *http.Request) { panic("boom") }, 500, "InternalFailure"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			seen := &recorder{}
			m := &service.Calls{Logger: quiet(), Observer: seen, Random: rand.Reader, Now: time.Now}
			s := listen(t, Config{Handler: Recorded(m, tc.handler)})
			c := client(t, 1, nil)
			response, err := c.Get("http://" + s.Addr().String())
			clustertest.Must(t, err)
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			id := response.Header.Get("x-amzn-RequestId")
			if response.StatusCode != tc.status || len(id) != 36 || (tc.status == 200 && string(body) != id) {
				t.Errorf("got %d %q %q", response.StatusCode, id, body)
			}
			c.CloseIdleConnections()
			shutdown(t, s)
			if len(seen.seen) != 1 || seen.seen[0].Code != tc.code || seen.seen[0].Status != tc.status || seen.seen[0].ID != id {
				t.Errorf("observed %+v", seen.seen)
			}
		})
	}
}

// A panic after the request was suspended must close the connection, too, as nothing resumes the
// request.
func TestAbortClosesTheConnection(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"abort": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"panic after suspending": func(w http.ResponseWriter, _ *http.Request) {
			if _, ok := http1.Suspend(w, func() {}); ok {
				panic("planned")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &service.Calls{Logger: quiet(), Random: rand.Reader, Now: time.Now}
			s := listen(t, Config{Handler: Recorded(m, handler)})
			c := client(t, 1, nil)
			if response, err := c.Post("http://"+s.Addr().String(), "text/plain", strings.NewReader("x")); err == nil {
				response.Body.Close()
				t.Errorf("got %d, want a closed connection", response.StatusCode)
			}
			c.CloseIdleConnections()
			shutdown(t, s)
		})
	}
}

func TestContentTypeOfGRPC(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]bool{
		"application/grpc": true, "application/grpc+proto": true, "application/grpc;x=1": true,
		"application/grpc-web": false, "application/grpcx": false, "application/json": false, "": false,
	} {
		if got := isGRPC(contentType); got != want {
			t.Errorf("%q: %v", contentType, got)
		}
	}
}
