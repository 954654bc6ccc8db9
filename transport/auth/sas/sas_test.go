package sas

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/transport/auth"
)

// made is a token that azure-servicebus 7.15 for Python made.
const (
	keyName   = "SRTMEXAMPLE"
	secret    = "c2VjcmV0LXNlY3JldA"
	made      = "SharedAccessSignature sr=sb%3A%2F%2F127.0.0.1%3A5672%2Forders&sig=" + signature + "&se=1800000000&skn=SRTMEXAMPLE"
	signature = "JFo1RkokubfErMIsvG%2FyiE%2BSVaMtCYoqLo%2F4752dUz8%3D"
)

type keys map[string]string

func (k keys) Secret(id string) (string, bool, error) {
	if id == "sealed" {
		return "", false, errSealed
	}
	s, known := k[id]
	return s, known, nil
}

var errSealed = &auth.Error{Code: "ServiceUnavailable", Status: 503}

func at(seconds int64) func() time.Time { return func() time.Time { return time.Unix(seconds, 0) } }

func TestVerify(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		token string
		now   int64
		code  string
	}{
		"a token of the Python SDK":  {made, 1799999999, ""},
		"scheme in lower case":       {strings.Replace(made, Scheme, strings.ToLower(Scheme), 1), 0, ""},
		"at its end":                 {made, 1800000000, Expired},
		"a later end":                {strings.Replace(made, "se=18", "se=19", 1), 0, WrongMAC},
		"another audience":           {strings.Replace(made, "orders", "others", 1), 0, WrongMAC},
		"another encoding of it":     {strings.Replace(made, "%2F", "%2f", 1), 0, WrongMAC},
		"another key":                {strings.Replace(made, keyName, "other", 1), 0, WrongMAC},
		"an unknown key":             {strings.Replace(made, keyName, "none", 1), 0, UnknownKey},
		"a key that is sealed":       {strings.Replace(made, keyName, "sealed", 1), 0, "ServiceUnavailable"},
		"nothing":                    {"", 0, Malformed},
		"the scheme alone":           {Scheme, 0, Malformed},
		"another scheme":             {"Bearer abc", 0, Malformed},
		"no audience":                {Scheme + " sig=AA%3D%3D&se=1800000000&skn=k", 0, Malformed},
		"no signature":               {Scheme + " sr=sb%3A%2F%2Fh&se=1800000000&skn=k", 0, Malformed},
		"no end":                     {Scheme + " sr=sb%3A%2F%2Fh&sig=AA%3D%3D&skn=k", 0, Malformed},
		"no key":                     {Scheme + " sr=sb%3A%2F%2Fh&sig=AA%3D%3D&se=1800000000", 0, Malformed},
		"two audiences":              {made + "&sr=sb%3A%2F%2Fother", 0, Malformed},
		"a signature not in base64":  {strings.Replace(made, signature, "%%%", 1), 0, Malformed},
		"a text without end":         {made + "&x=" + strings.Repeat("x", textLengthMax), 0, Malformed},
		"an end before the calendar": {strings.Replace(made, "se=18", "se=-18", 1), 0, Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := New(keys{keyName: secret, "other": "another secret"}, at(tc.now))
			caller, token, err := v.Verify(tc.token)
			var refused *auth.Error
			if tc.code != "" {
				if !errors.As(err, &refused) || refused.Code != tc.code || caller != (auth.Identity{}) {
					t.Fatalf("got %+v, %v, want %s", caller, err, tc.code)
				}
				return
			}
			if err != nil || caller.AccessKeyID != keyName || token.Audience != "sb://127.0.0.1:5672/orders" {
				t.Fatalf("got %+v, %+v, %v", caller, token, err)
			}
		})
	}
}

// TestSign checks that signed tokens are accepted, with any characters in their parts.
func TestSign(t *testing.T) {
	t.Parallel()
	const audience, id, key = "https://name space/a+b/ü?x=y", "k&=+ é", "se\ncret+/="
	end := time.Unix(1_800_000_000, 0)
	caller, token, err := New(keys{id: key}, at(0)).Verify(Sign(audience, id, key, end))
	if err != nil || caller.AccessKeyID != id || token.Audience != audience || !token.Expires.Equal(end) {
		t.Errorf("got %+v, %v", token, err)
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		audience, path string
		want           bool
	}{
		{"sb://h", "orders", true},
		{"sb://h/", "", true},
		{"amqp://h:5672/orders", "orders", true},
		{"https://h/Orders/", "/ORDERS", true},
		{"sb://h/orders", "orders/$management", true},
		{"sb://h/orders", "orders2", false},
		{"sb://h/orders", "order", false},
		{"sb://h/orders", "", false},
		{"sb://h/t/subscriptions/s", "t", false},
		{"sb://h/t", "t/Subscriptions/s", true},
		{"https://h/orders?api-version=2021-05", "orders", true},
		{"h/orders", "orders", true},
	} {
		token := Token{Audience: tc.audience}
		if token.Covers(tc.path) != tc.want || (CheckCovers(&token, tc.path) == nil) != tc.want {
			t.Errorf("%s covers %q: want %v", tc.audience, tc.path, tc.want)
		}
	}
}

// TestAcceptAll checks that no token is refused without auth, and that the key in it is known.
func TestAcceptAll(t *testing.T) {
	t.Parallel()
	for text, key := range map[string]string{"": "", "Bearer x": "", made: keyName} {
		caller, token, err := AcceptAll{}.VerifyToken(t.Context(), text)
		if err != nil || caller.AccessKeyID != key || !token.Covers("anything") {
			t.Errorf("%q: %+v, %v", text, caller, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(made)
	f.Add(Sign("sb://h/q", "k", "s", time.Unix(1, 0)))
	f.Fuzz(func(t *testing.T, text string) {
		if token, ok := parse(text); ok && (token.Audience == "" || token.KeyName == "" || len(token.signature) > len(text)) {
			t.Errorf("%q: %+v", text, token)
		}
	})
}
