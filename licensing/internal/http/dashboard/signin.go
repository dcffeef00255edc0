package dashboard

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
)

// gatePage returns a page with a form for visitors who are not signed in. After the
// sign-in, the page of the parameter return opens.
func (v *visit) gatePage(title, action string, text []string, fields ...*field) *formPage {
	back := v.sent("return")
	if v.isRead() {
		back = v.r.URL.Query().Get("return")
	}
	p := &formPage{Title: title, Text: text, Action: action, Back: local(back), Form: newForm(fields...), Standalone: true, template: "signin", Extra: v.insecure()}
	if p.Back != "" {
		p.Form.Hidden["return"] = p.Back
	}
	return p
}

// next returns the page after a step of the sign-in: the code, the sign-in again, or
// Back.
func (p *formPage) next(err error) (to string, _ error) {
	switch {
	case errors.Is(err, signin.ErrSecondFactor):
		return p.onward("sign-in-code"), nil
	case errors.Is(err, operator.ErrAlreadySetUp), errors.Is(err, signin.ErrNoSession):
		p.done = ""
		return "sign-in", nil
	}
	return "", err
}

// onward returns the reference to another page with a form for visitors, which also leads
// to Back.
func (p *formPage) onward(page string) string {
	if p.Back == "" {
		return page
	}
	return page + "?" + url.Values{"return": {p.Back}}.Encode()
}

func emailField() *field {
	return &field{Name: "email", Label: "Email", Type: "email", Autocomplete: "username", Required: true, MaxLength: 254}
}

func signInForm(v *visit) (*formPage, error) {
	p := v.gatePage("Sign in", "Sign in", nil, emailField(),
		&field{Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password", Required: true,
			Hint: "If you have forgotten it, ask an admin for a password reset link."})
	if v.signedIn {
		p.away = &p.Back
	} else if setup, err := inner.Of(v.operators).NeedsSetup(v.r.Context()); err != nil {
		return nil, err
	} else if setup {
		p.away = new(p.onward("setup"))
	}
	p.do = func(v *visit) (string, error) {
		_, err := inner.Of(v.operators).SignIn(v.w, v.r, v.sent("email"), v.r.PostForm.Get("password"))
		return p.next(err)
	}
	return p, nil
}

func codeForm(v *visit) (*formPage, error) {
	p := v.gatePage("Enter code", "Sign in", []string{"Your account has a second factor. Enter its code within five minutes."}, &field{
		Name: "otp", Label: "Code", Hint: "The six digits of the authenticator app, or a recovery code.",
		Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true, MaxLength: 40,
	})
	if v.signedIn {
		p.away = &p.Back
	}
	p.do = func(v *visit) (string, error) {
		p.Form.Field("otp").Value = "" // no page repeats it
		_, err := inner.Of(v.operators).CompleteSignIn(v.w, v.r, v.sent("otp"))
		return p.next(err)
	}
	return p, nil
}

func setupForm(v *visit) (*formPage, error) {
	p := v.gatePage("Set up", "Create admin account",
		[]string{"There are no operators yet. Create the first admin account with the setup code. The log of the service has the code, or says how to get it. It expires after 30 minutes."},
		&field{Name: "code", Label: "Setup code", Hint: "See the log of the service.", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true},
		emailField(), newPassword("password", "Password"))
	p.Heading = "Set up the dashboard"
	if offered, err := inner.Of(v.operators).NeedsSetup(v.r.Context()); err != nil {
		return nil, err
	} else if !offered {
		p.away = new("sign-in")
	}
	p.do = func(v *visit) (string, error) {
		_, err := inner.Of(v.operators).CompleteSetup(v.w, v.r, v.sent("code"), v.sent("email"), v.r.PostForm.Get("password"))
		return p.next(err)
	}
	return p, nil
}

// joinForm accepts an invitation.
func joinForm(v *visit) (*formPage, error) {
	p := v.gatePage("Accept invitation", "Continue", []string{"Use the invitation code from an admin of this dashboard."},
		&field{Name: "code", Label: "Invitation code", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true},
		newPassword("password", "Password"))
	p.Heading = "Choose a password"
	p.do = func(v *visit) (string, error) {
		_, err := inner.Of(v.operators).AcceptInvitation(v.w, v.r, v.sent("code"), v.r.PostForm.Get("password"))
		return p.next(err)
	}
	return p, nil
}

// insecure reports whether the browser loaded this page from an address where
// it keeps no Secure cookie. A browser sends no Sec-Fetch-Mode to such an
// address; a proxy that terminates TLS forwards the header.
func (v *visit) insecure() bool {
	return v.r.TLS == nil && v.r.Header.Get("Sec-Fetch-Mode") == "" && v.r.Header.Get("User-Agent") != "" && inner.Of(v.operators).SecureSession(v.r)
}

// refuse adds to the form why a password or a code was not accepted, and returns the
// HTTP status. It returns false for any other error.
func (v *visit) refuse(f *form, err error) (status int, ok bool) {
	throttled, isThrottled := errors.AsType[*operator.ThrottledError](err)
	switch {
	case isThrottled:
		seconds := int(math.Ceil(throttled.RetryAfter.Seconds()))
		v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		wait := count(seconds, "second")
		if seconds > 90 {
			wait = count(int(math.Ceil(float64(seconds)/60)), "minute")
		}
		f.Problem = "Too many failed attempts. Try again in " + wait + "."
		return http.StatusTooManyRequests, true
	case errors.Is(err, signin.ErrSetupCode):
		f.addError("code", "This code is incorrect or expired. Reload this page to write a new code to the log.")
	case errors.Is(err, signin.ErrInvitationCode):
		f.addError("code", "This code is incorrect, expired or already used. Ask an admin for a new one.")
	case errors.Is(err, signin.ErrCode):
		f.addError("otp", "This code is incorrect or was used before. Wait for the next code of the app.")
	case !errors.Is(err, signin.ErrCredentials):
		return 0, false
	case !f.addError("current", "The current password is incorrect."):
		f.Problem = "Incorrect email or password."
	}
	return http.StatusUnprocessableEntity, true
}

func signOut(v *visit) error {
	if err := inner.Of(v.operators).SignOut(v.w, v.r); err != nil {
		return err
	}
	return v.redirect("sign-in")
}

func newPassword(name, label string) *field {
	return &field{Name: name, Label: label, Type: "password", Autocomplete: "new-password", Required: true,
		Hint: "At least " + strconv.Itoa(operator.MinPassword) + " characters, spaces allowed. A sentence is easy to remember."}
}
