package kit

import (
	"errors"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// Access is what a route requires of the operator: a permission, or one of the
// others.
type Access = operator.Permission

const (
	Operators  = operator.MayView
	Supporters = operator.MaySupport
	Auditors   = operator.MayAudit
	KeyReaders = operator.MayReadKeys
	Admins     = operator.MayManage

	Public Access = -1 // no sign-in
)

// May reports whether the operator has an access.
func (v *Visit) May(a Access) bool {
	return a == Public || v.SignedIn && !v.Op.Disabled && v.Op.Role.May(a)
}

// errAccessEnded means that an operator may no longer continue a request that takes
// several steps.
var errAccessEnded = web.NewProblem(http.StatusForbidden, "access_ended", "Your session has ended or your role has changed.")

// CheckAccess returns [errAccessEnded] if the operator was signed out or disabled,
// or got another role, since the request began.
func (v *Visit) CheckAccess() error {
	op, signedIn := operator.Operator{}, true
	if v.Opts.Operator != nil {
		op, signedIn = v.Opts.Operator(discardedResponse{}, v.R)
	} else {
		var err error
		if op, err = inner.Of(v.Operators).Session(v.R); errors.Is(err, signin.ErrNoSession) {
			signedIn = false
		} else if err != nil {
			return err
		}
	}
	if !signedIn || op.ID != v.Op.ID {
		return errAccessEnded
	}
	role := v.Op.Role
	if v.Op = op; op.Role != role || !v.May(v.Route.Access) {
		return errAccessEnded
	}
	return nil
}

// A discardedResponse is for a sign-in of the host application in the middle of
// a request, which has another response.
type discardedResponse struct{}

func (discardedResponse) Header() http.Header { return http.Header{} }

func (discardedResponse) Write(p []byte) (int, error) { return len(p), nil }

func (discardedResponse) WriteHeader(int) {}

// CredentialLink returns the page of an API client as a reference from
// dashboard/, or "" if the operator may not open it.
func (v *Visit) CredentialLink(id string) string {
	if !v.May(Auditors) {
		return ""
	}
	return CredentialPath(id)
}
