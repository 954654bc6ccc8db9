package account

// digits is the length of an account id.
const digits = 12

// IsID reports whether text is the id of an account: twelve digits.
func IsID(text string) bool {
	if len(text) != digits {
		return false
	}
	for i := range digits {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// Qualify is the name in the state of what an account calls name. The account of the
// cluster itself is the empty text. What it calls as if it were of another account, it
// does not get: nothing has a name that begins with a slash.
func Qualify(owner, name string) string {
	switch {
	case owner != "":
		return owner + "/" + name
	case OwnerOf(name) != "":
		return "/" + name
	}
	return name
}

// Split is the inverse of Qualify, for names that something can have.
func Split(qualified string) (owner, name string) {
	if len(qualified) > digits && qualified[digits] == '/' && IsID(qualified[:digits]) {
		return qualified[:digits], qualified[digits+1:]
	}
	return "", qualified
}

// OwnerOf is the account of a qualified name.
func OwnerOf(qualified string) string {
	owner, _ := Split(qualified)
	return owner
}

// PlainName is a qualified name without its account.
func PlainName(qualified string) string {
	_, name := Split(qualified)
	return name
}

// Sibling qualifies name by the account of another qualified name.
func Sibling(qualified, name string) string { return Qualify(OwnerOf(qualified), name) }

// Behind sorts behind all names of an account other than the cluster's own, and before
// those of any other one.
func Behind(owner string) string { return owner + "/\x7f" } // which no name has
