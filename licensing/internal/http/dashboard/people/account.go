package people

import (
	"cmp"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
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
	Time          *kit.Moment
}

func operatorAccessOf(v *kit.Visit, id string) (a operatorAccess, err error) {
	sessions, err1 := inner.Of(v.Operators).Sessions(v.R, id)
	events, err2 := v.Licenses.Events(v.R.Context(), api.ListEventsParams{Types: []string{"operator.*"}, Subject: id, NewestFirst: true, Limit: signInsRead})
	if err := cmp.Or(err1, err2); err != nil {
		return a, err
	}
	a.Sessions = sessions
	for _, e := range events.Data {
		if !slices.Contains([]string{api.EventOperatorSignedIn, api.EventOperatorSignedOut, api.EventOperatorSignInFailed}, e.Type) {
			continue
		}
		data := kit.ReadEventData(e)
		_, verb := kit.DescribeType(e.Type)
		a.SignIns = append(a.SignIns, signInRow{kit.SentenceCase(verb), data.Address, e.Type == api.EventOperatorSignInFailed, v.Moment(e.Timestamp)})
		if len(a.SignIns) == signInsShown {
			break
		}
	}
	return a, nil
}

// endSession ends a session of an operator. A session that has ended already is
// not an error.
func endSession(v *kit.Visit, operatorID string) error {
	return kit.UnlessGone(inner.Of(v.Operators).EndSession(v.R.Context(), operatorID, v.Sent("session")))
}

// EndOwnSession ends a session of the operator who is signed in.
func EndOwnSession(v *kit.Visit) error {
	if err := endSession(v, v.Op.ID); err != nil {
		return err
	}
	return v.RedirectDone("password", kit.NoticeSessionEnded)
}

// AccountForm is the account page, with the form that changes the password.
func AccountForm(v *kit.Visit) (*forms.FormPage, error) {
	a, err := operatorAccessOf(v, v.Op.ID)
	a.SessionPath = "sessions"
	p := &forms.FormPage{
		Title: "Your account", Section: "account", Back: "password", Template: "account", Extra: a, Form: forms.NewForm(currentPassword(), newPassword("password", "New password")),
		Done: "Your password has been changed. Your other sessions have ended.",
	}
	p.Do = func(v *kit.Visit) (string, error) {
		return goNext(p, inner.Of(v.Operators).ChangePassword(v.W, v.R, v.R.PostForm.Get("current"), v.R.PostForm.Get("password")))
	}
	return p, err
}
