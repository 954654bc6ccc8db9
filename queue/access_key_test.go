package queue

import (
	"encoding/hex"
	"fmt"
	"slices"
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
	create := &access.CreateAccessKey{ID: exampleKey, Secret: exampleSecret, Account: exampleOwner, User: "anna"}
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
	if want := (access.Key{ID: exampleKey, Secret: exampleSecret, User: access.User{Account: exampleOwner, Name: "anna"},
		CreatedAt: w.b.Now()}); !known || key != want {
		t.Errorf("got %+v", key)
	}

	w.must(&access.UpdateAccessKey{ID: exampleKey})
	if key, _ := w.b.View().Access().Key(exampleKey); !key.Inactive {
		t.Error("the key is still active")
	}
	if key, _ := before.Key(exampleKey); key.Inactive {
		t.Error("a table that somebody holds has changed")
	}
	w.must(&access.UpdateAccessKey{ID: exampleKey, Active: true})
	if w.b.View().Access().Sum() != before.Sum() {
		t.Error("the sum of an equal table is another one")
	}

	w.must(&access.DeleteAccessKey{ID: exampleKey})
	if n := w.b.View().Access().KeyCount(); n != 0 || w.b.View().Access().Bytes() != 0 {
		t.Errorf("%d keys are left, of %d bytes", n, w.b.View().Access().Bytes())
	}
	for _, cmd := range []Command{&access.DeleteAccessKey{ID: exampleKey}, &access.UpdateAccessKey{ID: exampleKey}} {
		if err := w.refusal(cmd); err.Code != refusal.NoSuchEntity {
			t.Errorf("%T: %v", cmd, err)
		}
	}
}

func TestUserPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	anna := access.User{Account: exampleOwner, Name: "anna"}
	put := func(text string) { w.must(&access.PutUserPolicy{Account: anna.Account, User: anna.Name, Policy: text}) }
	put(`{"Statement":[]}`)
	put(`{"Statement":[],"Id":"2"}`)
	if got := w.b.View().Access().Policy(anna); got != `{"Statement":[],"Id":"2"}` {
		t.Errorf("got %s", got)
	}
	put("")
	put("") // changes nothing
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
		{"short id", &access.CreateAccessKey{ID: "AKIA", Secret: exampleSecret, Account: exampleOwner}, refusal.IAMInvalidInput},
		{"id with a slash", &access.CreateAccessKey{ID: "AKIAEXAMPLE/00000001", Secret: exampleSecret, Account: exampleOwner},
			refusal.IAMInvalidInput},
		{"secret in clear and sealed", &access.CreateAccessKey{ID: exampleKey, Secret: exampleSecret, Sealed: sealedFor(firstSealer),
			Account: exampleOwner}, refusal.IAMInvalidInput},
		{"short sealed secret", &access.CreateAccessKey{ID: exampleKey, Sealed: "short", Account: exampleOwner}, refusal.IAMInvalidInput},
		{"sealing key without an id", &access.SetSealingKey{Wraps: []access.Wrap{{Holder: "n1", PublicKey: "p1", Text: "t1"}}},
			refusal.IAMInvalidInput},
		{"sealing key for nobody", &access.SetSealingKey{ID: firstSealer, Wraps: []access.Wrap{{PublicKey: "p1", Text: "t1"}}},
			refusal.IAMInvalidInput},
		{"short secret", &access.CreateAccessKey{ID: exampleKey, Secret: "short", Account: exampleOwner}, refusal.IAMInvalidInput},
		{"secret with a blank", &access.CreateAccessKey{ID: exampleKey, Secret: "an example and no secret", Account: exampleOwner},
			refusal.IAMInvalidInput},
		{"account of letters", &access.CreateAccessKey{ID: exampleKey, Secret: exampleSecret, Account: "abcdefghijkl"},
			refusal.IAMInvalidInput},
		{"user with a slash", &access.CreateAccessKey{ID: exampleKey, Secret: exampleSecret, Account: exampleOwner, User: "a/b"},
			refusal.IAMInvalidInput},
		{"id to update", &access.UpdateAccessKey{}, refusal.IAMInvalidInput},
		{"id to delete", &access.DeleteAccessKey{ID: strings.Repeat("A", 129)}, refusal.IAMInvalidInput},
		{"policy of the account", &access.PutUserPolicy{Account: exampleOwner, Policy: "{}"}, refusal.IAMInvalidInput},
		{"policy that is none", &access.PutUserPolicy{Account: exampleOwner, User: "anna", Policy: "[]"}, refusal.MalformedPolicyDocument},
		{"long policy", &access.PutUserPolicy{Account: exampleOwner, User: "anna", Policy: `{"Id":"` + strings.Repeat("a", 10_240) + `"}`},
			refusal.LimitExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := tc.cmd.Validate()
			if err == nil || err.Code != tc.want {
				t.Fatalf("got %v, want code %d", err, tc.want)
			}
			if c, ok := tc.cmd.(*access.CreateAccessKey); ok && c.Secret != "" && strings.Contains(err.Message, c.Secret) {
				t.Error("the refusal repeats the secret")
			}
		})
	}
}

// sealedFor returns a secret with the form of a sealed one.
func sealedFor(id string) string {
	raw, err := hex.DecodeString(id)
	if err != nil {
		panic(err)
	}
	return string(raw) + strings.Repeat("x", access.SealedBytesMin)
}

const firstSealer, secondSealer = "0011223344556677", "8899aabbccddeeff"

func TestSealedAccessKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sealed := sealedFor(firstSealer)
	create := &access.CreateAccessKey{ID: exampleKey, Sealed: sealed, Account: exampleOwner}
	if err := w.refusal(create); err.Code != refusal.EntityAlreadyExists {
		t.Errorf("without a sealing key: %v", err)
	}
	n1, n2 := access.Wrap{Holder: "n1", PublicKey: "p1", Text: "t1"}, access.Wrap{Holder: "n2", PublicKey: "p2", Text: "t2"}
	w.must(&access.SetSealingKey{ID: firstSealer, Wraps: []access.Wrap{n2, n1}})
	w.must(create)
	before := w.b.View().Access()
	w.must(create)                                                           // repeated
	w.must(&access.SetSealingKey{ID: firstSealer, Wraps: []access.Wrap{n1}}) // likewise
	again := access.Wrap{Holder: "n2", PublicKey: "p2", Text: "other"}       // for the same public key
	w.must(&access.SetSealingKey{ID: firstSealer, Wraps: []access.Wrap{again}})
	w.must(&access.SetSealingKey{ID: firstSealer, Replaces: secondSealer, Drop: []string{"nobody"}}) // nothing to drop
	if w.b.View().Access() != before {
		t.Error("what says nothing new changed the state")
	}
	// No key can replace one that seals a secret.
	for _, cmd := range []Command{
		&access.SetSealingKey{ID: secondSealer, Wraps: []access.Wrap{n1}},
		&access.SetSealingKey{ID: secondSealer, Replaces: firstSealer, Wraps: []access.Wrap{n1}},
		&access.CreateAccessKey{ID: "AKIAEXAMPLE000000002", Sealed: sealedFor(secondSealer), Account: exampleOwner},
	} {
		if err := w.refusal(cmd); err.Code != refusal.EntityAlreadyExists {
			t.Errorf("%T: %v", cmd, err)
		}
	}
	if err := w.refusal(&access.SetSealingKey{ID: firstSealer, Drop: []string{"n1", "n2"}}); err.Code != refusal.IAMInvalidInput {
		t.Errorf("a key without holders: %v", err)
	}
	n2.PublicKey = "p3"
	w.must(&access.SetSealingKey{ID: firstSealer, Wraps: []access.Wrap{n2}, Drop: []string{"n1"}})
	if now := w.b.View().Access().SealingKey(); len(now.Wraps) != 1 || now.Wraps[0] != n2 {
		t.Errorf("the holders are %+v", now.Wraps)
	}
	w.must(&access.DeleteAccessKey{ID: exampleKey})
	w.must(&access.SetSealingKey{ID: secondSealer, Replaces: firstSealer, Wraps: []access.Wrap{n1}})
	if now := w.b.View().Access().SealingKey(); now.ID != secondSealer || len(now.Wraps) != 1 {
		t.Errorf("the key that sealed nothing is still there: %+v", now)
	}
	if err := w.b.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// UseAccessKeys omits the keys of accounts that the state does not have.
func TestUseAccessKeys(t *testing.T) {
	t.Parallel()
	const tenant, shared = "111111111111", "222222222222"
	before, backup := newWorld(t), newWorld(t)
	before.must(&access.CreateAccount{Account: tenant})
	for _, w := range []*world{before, backup} {
		w.must(&access.CreateAccount{Account: shared})
	}
	for i, owner := range []string{exampleOwner, tenant, shared} {
		before.must(&access.CreateAccessKey{ID: fmt.Sprint("AKIAEXAMPLE00000000", i), Secret: exampleSecret, Account: owner,
			Tenant: owner != exampleOwner})
	}
	backup.b.UseAccessKeys(before.b.View().Access())
	var owners []string
	backup.b.View().Access().Keys(func(k access.Key) bool {
		owners = append(owners, k.User.Account)
		return true
	})
	if want := []string{exampleOwner, shared}; !slices.Equal(owners, want) {
		t.Errorf("there are keys of %v, want %v", owners, want)
	}
}
