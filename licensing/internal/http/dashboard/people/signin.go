package people

import (
	"errors"
	"net/url"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// gatePage returns a page with a form for visitors who are not signed in. After the
// sign-in, the page of the parameter return opens.
func gatePage(v *kit.Visit, title, action string, text []string, fields ...*forms.Field) *forms.FormPage {
	back := v.Sent("return")
	if v.IsRead() {
		back = v.R.URL.Query().Get("return")
	}
	p := &forms.FormPage{Title: title, Text: text, Action: action, Back: kit.Local(back), Form: forms.NewForm(fields...), Standalone: true, Template: "signin", Extra: insecure(v)}
	if p.Back != "" {
		p.Form.Hidden["return"] = p.Back
	}
	return p
}

// goNext returns the page after a step of the sign-in: the code, the sign-in again, or
// Back.
func goNext(p *forms.FormPage, err error) (to string, _ error) {
	switch {
	case errors.Is(err, signin.ErrSecondFactor):
		return onward(p, "sign-in-code"), nil
	case errors.Is(err, operator.ErrAlreadySetUp), errors.Is(err, signin.ErrNoSession):
		p.Done = ""
		return "sign-in", nil
	}
	return "", err
}

// onward returns the reference to another page with a form for visitors, which also leads
// to Back.
func onward(p *forms.FormPage, page string) string {
	if p.Back == "" {
		return page
	}
	return page + "?" + url.Values{"return": {p.Back}}.Encode()
}

func emailField() *forms.Field {
	return &forms.Field{Name: "email", Label: "Email", Type: "email", Autocomplete: "username", Required: true, MaxLength: 254}
}

func SignInForm(v *kit.Visit) (*forms.FormPage, error) {
	p := gatePage(v, "Sign in", "Sign in", nil, emailField(),
		&forms.Field{Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password", Required: true,
			Hint: "If you have forgotten it, ask an admin for a password reset link."},
		&forms.Field{Name: "stay", Label: "This device", Type: "checkbox", Options: []forms.Option{
			{Value: "yes", Label: "Stay signed in on this device", Hint: "For 14 days. Your account lists your sessions and ends them."},
		}})
	if v.SignedIn {
		p.Away = &p.Back
	} else if setup, err := inner.Of(v.Operators).NeedsSetup(v.R.Context()); err != nil {
		return nil, err
	} else if setup {
		p.Away = new(onward(p, "setup"))
	}
	p.Do = func(v *kit.Visit) (string, error) {
		_, err := inner.Of(v.Operators).SignIn(v.W, v.R, v.Sent("email"), v.R.PostForm.Get("password"), p.Form.Field("stay").Chosen() != "")
		return goNext(p, err)
	}
	return p, nil
}

func CodeForm(v *kit.Visit) (*forms.FormPage, error) {
	p := gatePage(v, "Enter code", "Sign in", []string{"Your account has a second factor. Enter its code within five minutes."}, &forms.Field{
		Name: "otp", Label: "Code", Hint: "The six digits of the authenticator app, or a recovery code.",
		Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true, MaxLength: 40,
	})
	if v.SignedIn {
		p.Away = &p.Back
	}
	p.Do = func(v *kit.Visit) (string, error) {
		p.Form.Field("otp").Value = "" // no page repeats it
		_, err := inner.Of(v.Operators).CompleteSignIn(v.W, v.R, v.Sent("otp"))
		return goNext(p, err)
	}
	return p, nil
}

func SetupForm(v *kit.Visit) (*forms.FormPage, error) {
	p := gatePage(v, "Set up", "Create admin account",
		[]string{"There are no operators yet. Create the first admin account with the setup code. The log of the service has the code, or says how to get it. It expires after 30 minutes."},
		&forms.Field{Name: "code", Label: "Setup code", Hint: "See the log of the service.", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true},
		emailField(), newPassword("password", "Password"))
	p.Heading = "Set up the dashboard"
	if offered, err := inner.Of(v.Operators).NeedsSetup(v.R.Context()); err != nil {
		return nil, err
	} else if !offered {
		p.Away = new("sign-in")
	}
	p.Do = func(v *kit.Visit) (string, error) {
		_, err := inner.Of(v.Operators).CompleteSetup(v.W, v.R, v.Sent("code"), v.Sent("email"), v.R.PostForm.Get("password"))
		return goNext(p, err)
	}
	return p, nil
}

// JoinForm accepts an invitation.
func JoinForm(v *kit.Visit) (*forms.FormPage, error) {
	p := gatePage(v, "Accept invitation", "Continue", []string{"Use the invitation code from an admin of this dashboard."},
		&forms.Field{Name: "code", Label: "Invitation code", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true},
		newPassword("password", "Password"))
	p.Heading = "Choose a password"
	p.Do = func(v *kit.Visit) (string, error) {
		_, err := inner.Of(v.Operators).AcceptInvitation(v.W, v.R, v.Sent("code"), v.R.PostForm.Get("password"))
		return goNext(p, err)
	}
	return p, nil
}

// insecure reports whether the browser loaded this page from an address where
// it keeps no Secure cookie. A browser sends no Sec-Fetch-Mode to such an
// address; a proxy that terminates TLS forwards the header.
func insecure(v *kit.Visit) bool {
	return v.R.TLS == nil && v.R.Header.Get("Sec-Fetch-Mode") == "" && v.R.Header.Get("User-Agent") != "" && inner.Of(v.Operators).SecureSession(v.R)
}

func SignOut(v *kit.Visit) error {
	if err := inner.Of(v.Operators).SignOut(v.W, v.R); err != nil {
		return err
	}
	return v.Redirect("sign-in")
}

func newPassword(name, label string) *forms.Field {
	return &forms.Field{Name: name, Label: label, Type: "password", Autocomplete: "new-password", Required: true,
		Hint: "At least " + strconv.Itoa(operator.MinPassword) + " characters, spaces allowed. A sentence is easy to remember."}
}
