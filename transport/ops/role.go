package ops

// Role is a level of permissions on the admin port. Each role includes the roles before it.
type Role uint8

// The roles.
const (
	NoRole        Role = iota // has no token: health and readiness
	Viewer                    // status, numbers and names, nothing of messages
	Operate                   // stored messages, leadership, drains
	Administrator             // members, backups, upgrades, profiles
)

var roleNames = [...]string{NoRole: "none", Viewer: "viewer", Operate: "operator", Administrator: "admin"}

// String returns the name of the role.
func (r Role) String() string { return roleNames[r] }

// ParseRole returns the role with a name.
func ParseRole(name string) (Role, bool) {
	for role := Viewer; role <= Administrator; role++ {
		if role.String() == name {
			return role, true
		}
	}
	return NoRole, false
}

// Operator is a caller of the admin port.
type Operator struct {
	Name string
	Role Role
}

// Tokens identify the callers of the port.
type Tokens struct {
	// Find returns the operator with a token; nil: every caller may do everything.
	Find func(token string) (Operator, bool)
	// OwnFile is the file on this machine with the token of an administrator, which refusals name;
	// empty: none. Only this machine reaches a port with such a file.
	OwnFile string
}

// anybody stands for all callers of a port without tokens.
var anybody = Operator{Name: "anybody", Role: Administrator}
