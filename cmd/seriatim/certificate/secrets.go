package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// accountFolder holds the credentials of a pod for the Kubernetes API.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

const (
	apiTimeout  = 30 * time.Second
	answerBytes = 4 << 20
)

// secrets stores the parts of a bundle as secrets of Kubernetes.
type secrets struct {
	url    string // of all secrets of the namespace
	prefix string // of their names
	token  string
	client *http.Client
	found  map[string]secret // the secrets that read returned, by part
}

// secret is an object of Kubernetes. Metadata keeps its unknown fields.
type secret struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Type       string         `json:"type,omitempty"`
	Data       files          `json:"data"`
	Immutable  *bool          `json:"immutable,omitempty"`
}

// inPod opens the secrets of the namespace of the pod that runs this process.
func inPod(prefix string) (*secrets, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("this is not a pod: KUBERNETES_SERVICE_HOST is not set")
	}
	return openSecrets("https://"+net.JoinHostPort(host, port), accountFolder, prefix)
}

func openSecrets(api, account, prefix string) (*secrets, error) {
	given := map[string]string{}
	for _, name := range []string{"token", "ca.crt", "namespace"} {
		text, err := os.ReadFile(filepath.Join(account, name))
		if err != nil {
			return nil, err
		}
		given[name] = strings.TrimSpace(string(text))
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM([]byte(given["ca.crt"])) {
		return nil, fmt.Errorf("%s has no certificate", filepath.Join(account, "ca.crt"))
	}
	return &secrets{
		url: api + "/api/v1/namespaces/" + url.PathEscape(given["namespace"]) + "/secrets", prefix: prefix, token: given["token"],
		client: &http.Client{Timeout: apiTimeout,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}},
		found: map[string]secret{},
	}, nil
}

func (s *secrets) read(ctx context.Context, part string) (files, error) {
	var there secret
	status, err := s.call(ctx, http.MethodGet, "/"+url.PathEscape(s.name(part)), nil, &there)
	if status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.found[part] = there
	if there.Data == nil {
		there.Data = files{} // nil means that the secret does not exist
	}
	return there.Data, nil
}

func (s *secrets) write(ctx context.Context, part string, content files) error {
	object, there := s.found[part]
	if !there {
		_, err := s.call(ctx, http.MethodPost, "", secret{
			APIVersion: "v1", Kind: "Secret", Type: "Opaque", Data: content,
			Metadata: map[string]any{"name": s.name(part),
				"labels": map[string]string{"app.kubernetes.io/managed-by": "seriatim", "app.kubernetes.io/instance": s.prefix}},
		}, nil)
		return err
	}
	// The object carries the version that was read, so Kubernetes refuses the update if the
	// secret has changed since.
	if object.Data == nil {
		object.Data = files{}
	}
	maps.Copy(object.Data, content)
	_, err := s.call(ctx, http.MethodPut, "/"+url.PathEscape(s.name(part)), object, nil)
	return err
}

func (s *secrets) name(part string) string { return s.prefix + "-" + part }

// call makes one request. Its errors contain nothing of the request, which holds secrets.
func (s *secrets) call(ctx context.Context, method, path string, send, into any) (status int, err error) {
	var body io.Reader
	if send != nil {
		text, err := json.Marshal(send)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytes))
	if err != nil {
		return response.StatusCode, err
	}
	if response.StatusCode/100 != 2 {
		var reason struct{ Message string }
		if json.Unmarshal(text, &reason) != nil || reason.Message == "" {
			reason.Message = "no reason given"
		}
		return response.StatusCode, fmt.Errorf("the API of Kubernetes answered %d: %s", response.StatusCode, reason.Message)
	}
	if into == nil {
		return response.StatusCode, nil
	}
	return response.StatusCode, json.Unmarshal(text, into)
}
