package dashboard

import (
	"slices"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
)

// access is what a route requires of the operator.
type access int

const (
	operators  access = iota // any operator who is signed in
	supporters               // operators who may renew and reinstate licenses and release activations
	auditors                 // operators who may view the API credentials
	admins                   // operators who may make all changes
	keyReaders               // operators who may see license keys
	byMove                   // what the move in the path requires; see accessOfMove
	public                   // no sign-in
)

// granted has the rule of who may do what, for each role. Everything else in
// this package asks may. An unknown role may do nothing.
var granted = map[operator.Role][]access{
	operator.RoleAdmin:   {operators, supporters, auditors, admins, keyReaders},
	operator.RoleSupport: {operators, supporters},
	operator.RoleViewer:  {operators, auditors},
}

// may reports whether the operator has an access.
func (v *visit) may(a access) bool {
	return a == public || v.signedIn && !v.op.Disabled && slices.Contains(granted[v.op.Role], a)
}

// accessOfMove returns what a move of a license requires.
func accessOfMove(name string) access {
	switch name {
	case "reinstate", "renew":
		return supporters
	}
	return admins
}

// mayOpen reports whether the operator may use a route.
func (v *visit) mayOpen(r *route) bool {
	if r.access == byMove {
		return v.may(accessOfMove(v.params["move"]))
	}
	return v.may(r.access)
}

// credentialLink returns the page of an API credential as a reference from
// dashboard/, or "" if the operator may not open it.
func (v *visit) credentialLink(id string) string {
	if !v.may(auditors) {
		return ""
	}
	return credentialPath(id)
}
