package operator

import "slices"

// A Role says what an operator may do.
type Role string

// The roles of operators.
const (
	RoleAdmin   Role = "admin"   // may see and change everything
	RoleSupport Role = "support" // may see licenses without their keys, suspend, reinstate and renew them, release activations, and issue license files with the limits of a license key holder
	RoleViewer  Role = "viewer"  // may see everything except license keys and change only their own account
)

// A Permission is a kind of pages and changes that a role may allow.
type Permission int

const (
	MayView     Permission = iota // every page without a secret
	MaySupport                    // suspend, reinstate and renew licenses, release activations, issue license files
	MayAudit                      // view the API clients
	MayReadKeys                   // see license keys
	MayManage                     // make all changes
)

// permissions has what each role allows.
var permissions = map[Role][]Permission{
	RoleAdmin:   {MayView, MaySupport, MayAudit, MayReadKeys, MayManage},
	RoleSupport: {MayView, MaySupport},
	RoleViewer:  {MayView, MayAudit},
}

// May reports whether the role allows p. An unknown role allows nothing.
func (r Role) May(p Permission) bool { return slices.Contains(permissions[r], p) }

func (r Role) known() bool { return permissions[r] != nil }
