package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
)

const (
	exampleKey    = "AKIAEXAMPLE000000001"
	exampleSecret = "an-example-and-no-secret"
	exampleOwner  = "000000000000"
)

func TestAccessKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := &CreateAccessKey{ID: exampleKey, Secret: exampleSecret, Account: exampleOwner, User: "anna"}
	w.must(create)
	before := w.b.View().Access()
	w.must(create) // repeated
	if w.b.View().Access() != before {
		t.Error("a repeated creation changed the state")
	}
	other := *create
	other.Secret += "!"
	if err := w.refusal(&other); err.Code != refusal.EntityAlreadyExists || strings.Contains(err.Message, exampleSecret) {
		t.Errorf("got %v", err)
	}
	key, known := before.Key(exampleKey)
	if want := (access.Key{ID: exampleKey, Secret: exampleSecret, User: access.User{Account: exampleOwner, Name: "anna"}, CreatedAt: w.b.Now()}); !known || key != want {
		t.Errorf("got %+v", key)
	}

	w.must(&UpdateAccessKey{ID: exampleKey})
	if key, _ := w.b.View().Access().Key(exampleKey); !key.Inactive {
		t.Error("the key is still active")
	}
	if key, _ := before.Key(exampleKey); key.Inactive {
		t.Error("a table that somebody holds has changed")
	}
	w.must(&UpdateAccessKey{ID: exampleKey, Active: true})
	if w.b.View().Access().Sum() != before.Sum() {
		t.Error("the sum of an equal table is another one")
	}

	w.must(&DeleteAccessKey{ID: exampleKey})
	if n := w.b.View().Access().KeyCount(); n != 0 || w.b.View().Access().Bytes() != 0 {
		t.Errorf("%d keys are left, of %d bytes", n, w.b.View().Access().Bytes())
	}
	for _, cmd := range []Command{&DeleteAccessKey{ID: exampleKey}, &UpdateAccessKey{ID: exampleKey}} {
		if err := w.refusal(cmd); err.Code != refusal.NoSuchEntity {
			t.Errorf("%T: %v", cmd, err)
		}
	}
}

func TestUserPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	anna := access.User{Account: exampleOwner, Name: "anna"}
	put := func(text string) { w.must(&PutUserPolicy{Account: anna.Account, User: anna.Name, Policy: text}) }
	put(`{"Statement":[]}`)
	put(`{"Statement":[],"Id":"2"}`)
	if got := w.b.View().Access().Policy(anna); got != `{"Statement":[],"Id":"2"}` {
		t.Errorf("got %s", got)
	}
	put("")
	put("") // nothing is taken away again
	if table := w.b.View().Access(); table.PolicyCount() != 0 || table.Bytes() != 0 || table.Policy(anna) != "" {
		t.Errorf("%d policies are left", table.PolicyCount())
	}
}

func TestAccessValidation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		cmd  Command
		want refusal.Code
	}{
		{"short id", &CreateAccessKey{ID: "AKIA", Secret: exampleSecret, Account: exampleOwner}, refusal.IAMInvalidInput},
		{"id with a slash", &CreateAccessKey{ID: "AKIAEXAMPLE/00000001", Secret: exampleSecret, Account: exampleOwner}, refusal.IAMInvalidInput},
		{"short secret", &CreateAccessKey{ID: exampleKey, Secret: "short", Account: exampleOwner}, refusal.IAMInvalidInput},
		{"secret with a blank", &CreateAccessKey{ID: exampleKey, Secret: "an example and no secret", Account: exampleOwner}, refusal.IAMInvalidInput},
		{"account of letters", &CreateAccessKey{ID: exampleKey, Secret: exampleSecret, Account: "abcdefghijkl"}, refusal.IAMInvalidInput},
		{"user with a slash", &CreateAccessKey{ID: exampleKey, Secret: exampleSecret, Account: exampleOwner, User: "a/b"}, refusal.IAMInvalidInput},
		{"id to update", &UpdateAccessKey{}, refusal.IAMInvalidInput},
		{"id to delete", &DeleteAccessKey{ID: strings.Repeat("A", 129)}, refusal.IAMInvalidInput},
		{"policy of the account", &PutUserPolicy{Account: exampleOwner, Policy: "{}"}, refusal.IAMInvalidInput},
		{"policy that is none", &PutUserPolicy{Account: exampleOwner, User: "anna", Policy: "[]"}, refusal.MalformedPolicyDocument},
		{"long policy", &PutUserPolicy{Account: exampleOwner, User: "anna", Policy: `{"Id":"` + strings.Repeat("a", 10_240) + `"}`}, refusal.LimitExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := tc.cmd.Validate()
			if err == nil || err.Code != tc.want {
				t.Fatalf("got %v, want code %d", err, tc.want)
			}
			if c, ok := tc.cmd.(*CreateAccessKey); ok && strings.Contains(err.Message, c.Secret) {
				t.Error("the refusal repeats the secret")
			}
		})
	}
}
