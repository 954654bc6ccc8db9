package policies

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/seriatimq/seriatim/transport/auth/iam"
)

var (
	seeds = flag.Int("seeds", 2000, "how many pairs of policies to make")
	seed  = flag.Uint64("seed", 1, "the first of them")
)

const requestsEach = 12

func (r *request) iam() *iam.Request {
	return &iam.Request{
		Caller: iam.Caller{Account: r.account, User: r.user}, Action: r.action, Resource: r.resource, Account: r.owner, Keys: r.keys,
	}
}

func (p *policy) kind() iam.Kind {
	if p.ofUser {
		return iam.UserPolicy
	}
	return iam.QueuePolicy
}

// tree returns the policy as JSON.
func (p *policy) tree(s source) object {
	var list []any
	for _, st := range p.statements {
		list = append(list, st.tree(s))
	}
	return object{{"Version", "2012-10-17"}, {"Statement", list}}
}

// without returns the policy without a statement.
func (p *policy) without(at int) *policy {
	rest := &policy{ofUser: p.ofUser}
	for i, st := range p.statements {
		if i != at {
			rest.statements = append(rest.statements, st)
		}
	}
	return rest
}

// TestPolicies decides requests with correct policies and with policies that contain a typo.
func TestPolicies(t *testing.T) {
	t.Parallel()
	allowed, refused := 0, 0
	for n := range *seeds {
		number := *seed + uint64(n)
		s := source{rand.New(rand.NewPCG(number, 35))}
		ofUser, ofQueue := s.policy(true), s.policy(false)
		userTree, queueTree := ofUser.tree(s), ofQueue.tree(s)
		var documents [2]*iam.Document
		for i, written := range []string{text(userTree), text(queueTree)} {
			p := []*policy{ofUser, ofQueue}[i]
			own := []string{"", orders}[i]
			if err := iam.Check(p.kind(), own, written); err != nil {
				t.Fatalf("seed %d: %s is refused: %v", number, written, err)
			}
			documents[i] = iam.Stored(p.kind(), written)
		}
		for range requestsEach {
			r := s.request(true)
			want := decide(r, ofUser, ofQueue)
			if got := iam.Decide(r.iam(), documents[0], documents[1]).Allowed; got != want {
				t.Fatalf("seed %d: allowed %t, want %t\n%+v\n%s\n%s", number, got, want, *r, text(userTree), text(queueTree))
			}
			if want {
				allowed++
			}
		}
		for range 3 {
			if mistype(t, number, s, [2]*policy{ofUser, ofQueue}, documents) {
				refused++
			}
		}
	}
	t.Logf("%d policies, %d requests were allowed, %d typos refused", 2**seeds, allowed, refused)
	if allowed < *seeds || refused < *seeds {
		t.Error("the grammar makes too little of what it is for")
	}
}

// mistype puts a typo into one of two policies, and reports whether there was a place for it.
func mistype(t *testing.T, number uint64, s source, policies [2]*policy, documents [2]*iam.Document) bool {
	t.Helper()
	i := s.IntN(2)
	p, own := policies[i], []string{"", orders}[i]
	at := s.IntN(len(p.statements))
	tree := p.tree(s)
	what := pick(s, typos...)(s, &tree, at)
	if what == "" {
		return false
	}
	written := text(tree)
	if iam.Check(p.kind(), own, written) == nil {
		t.Fatalf("seed %d: %s: accepted\n%s", number, what, written)
	}
	documents[i] = iam.Stored(p.kind(), written)
	rest := policies
	if p.statements[at].effect == "Allow" {
		rest[i] = p.without(at)
	}
	for range requestsEach {
		r := s.request(true)
		if documents[i].Evaluate(r.iam()).Effect == iam.Allowed {
			t.Fatalf("seed %d: %s: the policy permits\n%+v\n%s", number, what, *r, written)
		}
		// Within its account, the account itself needs no permission, so that only denials count.
		if iam.Decide(r.iam(), documents[0], documents[1]).Allowed && !decide(r, rest[0], rest[1]) {
			t.Fatalf("seed %d: %s: allowed, and is not without the typo\n%+v\n%s", number, what, *r, written)
		}
	}
	return true
}
