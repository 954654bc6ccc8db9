package auth

import "testing"

func TestError(t *testing.T) {
	t.Parallel()
	if got := (&Error{Code: "AccessDenied", Message: "no"}).Error(); got != "AccessDenied: no" {
		t.Errorf("got %q", got)
	}
}

// A principal id identifies a user and does not reveal the user's keys.
func TestPrincipalID(t *testing.T) {
	t.Parallel()
	const ours, theirs = "000000000000", "111111111111"
	ada := Identity{AccessKeyID: "AKIDEXAMPLE", Account: ours, User: "ada"}.PrincipalID()
	if len(ada) != 21 || ada[:4] != "AIDA" || ada != (Identity{AccessKeyID: "AKIDOTHER", Account: ours, User: "ada"}).PrincipalID() {
		t.Errorf("the id of a user is %s", ada)
	}
	for _, other := range []Identity{{Account: ours, User: "Ada"}, {Account: theirs, User: "ada"}} {
		if other.PrincipalID() == ada {
			t.Errorf("%+v has the id of another user", other)
		}
	}
	if id := (Identity{AccessKeyID: "AKIDEXAMPLE", Account: ours}).PrincipalID(); id != ours {
		t.Errorf("the id of the account is %s", id)
	}
	if id := (Identity{}).PrincipalID(); id != "" {
		t.Errorf("the id of an anonymous caller is %s", id)
	}
}
