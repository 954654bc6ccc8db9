package objectstore

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/auth/sigv4"
)

// location is where an object shall be.
type location struct {
	url   string // without a query
	name  string // as it was given, complete
	given bool   // the name was: it may be that of an object that is there
	token string // of a session; empty: none
	sign  *sigv4.Signer
}

// locate reads s3://bucket/key and the variables that tools for S3 read. A key that is empty
// or ends with a slash gets a name with the time.
func locate(destination string, environment func(string) string, now func() time.Time) (location, error) {
	if strings.Contains(destination, "@") { // the error would show the secret
		return location{}, errors.New("a destination has no key in it: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY hold that of the store")
	}
	u, err := url.Parse(destination)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return location{}, fmt.Errorf("%q is not like s3://bucket/folder/", destination)
	}
	key := strings.TrimPrefix(u.Path, "/")
	given := key != "" && !strings.HasSuffix(key, "/")
	if !given {
		key += "seriatim-" + now().UTC().Format("20060102T150405Z") + ".backup"
	}
	// Others are escaped in one way by the protocol and in another by its signatures.
	if bad := strings.IndexFunc(key, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/", r)
	}); bad >= 0 || strings.Contains("/"+key, "/.") || strings.Contains("/"+key, "//") {
		return location{}, fmt.Errorf("the name %q may have letters, digits, -, ., _ and ~ only, and no empty or dotted folders", key)
	}
	id, secret := environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		return location{}, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must hold a key of the store")
	}
	region := cmp.Or(environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"), "us-east-1")
	base := "https://" + u.Host + ".s3." + region + ".amazonaws.com"
	if endpoint := strings.TrimRight(environment("AWS_ENDPOINT_URL_S3"), "/"); endpoint != "" {
		if strings.Contains(endpoint, "@") {
			return location{}, errors.New("AWS_ENDPOINT_URL_S3 has no user and password: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY hold the key of the store")
		}
		e, err := url.Parse(endpoint)
		if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.RawQuery != "" {
			return location{}, fmt.Errorf("AWS_ENDPOINT_URL_S3 %q is not like https://minio.example.org", endpoint)
		}
		base = endpoint + "/" + u.Host
	}
	return location{
		url: base + "/" + key, name: "s3://" + u.Host + "/" + key, given: given, token: environment("AWS_SESSION_TOKEN"),
		sign: &sigv4.Signer{KeyID: id, Secret: secret, Region: region, Service: "s3", Now: now},
	}, nil
}
