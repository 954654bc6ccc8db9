package sigv4

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Signer signs requests to this server, as the SDKs of AWS do. Safe for concurrent use.
type Signer struct {
	KeyID, Secret   string
	Region, Service string
	Now             func() time.Time
	today           atomic.Pointer[dayKey]
}

// dayKey is the signing key of a day.
type dayKey struct {
	day string
	key *signingKey
}

// Sign adds the headers of a signature to an otherwise complete request.
func (s *Signer) Sign(r *http.Request, body string) { s.sign(r, digestOf(body)) }

// SignHead signs a request without its body, which may not be known yet.
func (s *Signer) SignHead(r *http.Request) {
	r.Header["X-Amz-Content-Sha256"] = []string{unsignedPayload}
	s.sign(r, unsignedPayload)
}

func (s *Signer) sign(r *http.Request, payload string) {
	stamp := s.Now().UTC().Format(dateFormat)
	r.Header["X-Amz-Date"] = []string{stamp}
	made := signature{
		stamp: stamp,
		scope: scope{keyID: s.KeyID, day: stamp[:len("yyyymmdd")], region: s.Region, service: s.Service},
	}
	names := []string{"host"}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-") {
			names = append(names, strings.ToLower(name))
		}
	}
	slices.Sort(names)
	made.signed = newHeaderList(names)
	today := s.today.Load()
	if today == nil || today.day != made.scope.day {
		today = &dayKey{made.scope.day, newSigningKey(made.scope, s.Secret)}
		s.today.Store(today)
	}
	digits := today.key.sign(&made, r, []byte(payload))
	r.Header["Authorization"] = []string{algorithm + " Credential=" + s.KeyID + "/" + made.scope.String() +
		", SignedHeaders=" + made.signed.text + ", Signature=" + string(digits[:])}
}
