package access

// accountDigits is the length of an account id.
const accountDigits = 12

// IsAccountID reports whether text is the id of an account: twelve digits.
func IsAccountID(text string) bool {
	if len(text) != accountDigits {
		return false
	}
	for i := range accountDigits {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// Qualify returns the qualified name of a queue or topic. Owner is empty for the cluster's own
// account, which cannot name resources of other accounts: the result then matches nothing.
func Qualify(owner, name string) string {
	switch {
	case owner != "":
		return owner + "/" + name
	case OwnerOf(name) != "":
		return "/" + name
	}
	return name
}

// Split is the inverse of Qualify.
func Split(qualified string) (owner, name string) {
	if len(qualified) > accountDigits && qualified[accountDigits] == '/' && IsAccountID(qualified[:accountDigits]) {
		return qualified[:accountDigits], qualified[accountDigits+1:]
	}
	return "", qualified
}

// OwnerOf returns the account of a qualified name.
func OwnerOf(qualified string) string {
	owner, _ := Split(qualified)
	return owner
}

// PlainName returns a qualified name without its account.
func PlainName(qualified string) string {
	_, name := Split(qualified)
	return name
}

// Sibling qualifies name by the account of another qualified name.
func Sibling(qualified, name string) string { return Qualify(OwnerOf(qualified), name) }

// Behind returns a text that sorts after all names of an account and before those of the next one.
func Behind(owner string) string { return owner + "/\x7f" }
