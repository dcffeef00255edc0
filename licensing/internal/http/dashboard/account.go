package dashboard

import (
	"cmp"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// The number of sign-ins that a page shows, and of events that are read for them.
const (
	signInsShown = 20
	signInsRead  = 100
)

// operatorAccess has the sessions and the sign-in history of an operator, for the page of
// the operator and for the operator's own account.
type operatorAccess struct {
	Sessions    []signin.Session
	SessionPath string // the target of the forms that end a session, as a reference from dashboard/; empty: the page itself
	SignIns     []signInRow
}

// signInRow is one sign-in, failed sign-in or sign-out.
type signInRow struct {
	Text, Address string
	Failed        bool
	Time          *moment
}

func (v *visit) operatorAccess(id string) (a operatorAccess, err error) {
	sessions, err1 := inner.Of(v.operators).Sessions(v.r, id)
	events, err2 := v.licenses.Events(v.r.Context(), api.ListEventsParams{Type: "operator.*", Subject: id, NewestFirst: true, Limit: signInsRead})
	if err := cmp.Or(err1, err2); err != nil {
		return a, err
	}
	a.Sessions = sessions
	for _, e := range events.Data {
		if !slices.Contains([]string{"operator.signed_in", "operator.signed_out", "operator.sign_in_failed"}, e.Type) {
			continue
		}
		data := readEventData(e)
		_, verb := describeType(e.Type)
		a.SignIns = append(a.SignIns, signInRow{sentenceCase(verb), data.Address, e.Type == "operator.sign_in_failed", v.moment(e.Timestamp)})
		if len(a.SignIns) == signInsShown {
			break
		}
	}
	return a, nil
}

// endSession ends a session of an operator. A session that has ended already is
// not an error.
func (v *visit) endSession(operatorID string) error {
	return unlessGone(inner.Of(v.operators).EndSession(v.r.Context(), operatorID, v.sent("session")))
}

// endOwnSession ends a session of the operator who is signed in.
func endOwnSession(v *visit) error {
	if err := v.endSession(v.op.ID); err != nil {
		return err
	}
	return v.redirectDone("password", noticeSessionEnded)
}

// accountForm is the account page, with the form that changes the password.
func accountForm(v *visit) (*formPage, error) {
	a, err := v.operatorAccess(v.op.ID)
	a.SessionPath = "sessions"
	p := &formPage{
		Title: "Your account", Section: "account", Back: "password", template: "account", Extra: a, Form: newForm(currentPassword(), newPassword("password", "New password")),
		done: "Your password has been changed. Your other sessions have ended.",
	}
	p.do = func(v *visit) (string, error) {
		return p.next(inner.Of(v.operators).ChangePassword(v.w, v.r, v.r.PostForm.Get("current"), v.r.PostForm.Get("password")))
	}
	return p, err
}
