package dashboard

import (
	"errors"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// access is what a route requires of the operator: a permission, or one of the
// others.
type access = operator.Permission

const (
	operators  = operator.MayView
	supporters = operator.MaySupport
	auditors   = operator.MayAudit
	keyReaders = operator.MayReadKeys
	admins     = operator.MayManage

	public access = -1 // no sign-in
)

// may reports whether the operator has an access.
func (v *visit) may(a access) bool {
	return a == public || v.signedIn && !v.op.Disabled && v.op.Role.May(a)
}

// errAccessEnded means that an operator may no longer continue a request that takes
// several steps.
var errAccessEnded = web.NewProblem(http.StatusForbidden, "access_ended", "Your session has ended or your role has changed.")

// checkAccess returns [errAccessEnded] if the operator was signed out or disabled,
// or got another role, since the request began.
func (v *visit) checkAccess() error {
	op, signedIn := operator.Operator{}, true
	if v.h.opts.Operator != nil {
		op, signedIn = v.h.opts.Operator(discardedResponse{}, v.r)
	} else {
		var err error
		if op, err = inner.Of(v.operators).Session(v.r); errors.Is(err, signin.ErrNoSession) {
			signedIn = false
		} else if err != nil {
			return err
		}
	}
	if !signedIn || op.ID != v.op.ID {
		return errAccessEnded
	}
	role := v.op.Role
	if v.op = op; op.Role != role || !v.may(v.route.access) {
		return errAccessEnded
	}
	return nil
}

// A discardedResponse is for a sign-in of the host application in the middle of
// a request, which has another response.
type discardedResponse struct{}

func (discardedResponse) Header() http.Header         { return http.Header{} }
func (discardedResponse) Write(p []byte) (int, error) { return len(p), nil }
func (discardedResponse) WriteHeader(int)             {}

// credentialLink returns the page of an API credential as a reference from
// dashboard/, or "" if the operator may not open it.
func (v *visit) credentialLink(id string) string {
	if !v.may(auditors) {
		return ""
	}
	return credentialPath(id)
}
