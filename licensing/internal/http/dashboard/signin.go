package dashboard

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
)

// signInPage is the body of the pages for visitors who are not signed in: the
// sign-in, the setup and the acceptance of an invitation.
type signInPage struct {
	Heading, Text string
	Path, Action  string // the target and the button of the form
	Form          *form
	Return        string // the page to open after the sign-in, as a reference from dashboard/
	Insecure      bool   // the browser will not keep a session from this address
}

func (v *visit) renderSignIn(status int, f *form, returnTo string, insecure bool) error {
	return v.render(status, "signin", page{Title: "Sign in", Standalone: true, Invalid: f.HasErrors(), Body: signInPage{
		Heading: "Sign in", Path: "sign-in", Action: "Sign in", Form: f, Return: returnTo, Insecure: insecure,
	}})
}

func (v *visit) renderSetup(status int, f *form, insecure bool) error {
	return v.render(status, "signin", page{Title: "Set up", Standalone: true, Body: signInPage{
		Heading: "Set up the dashboard", Path: "setup", Action: "Create admin account", Form: f, Insecure: insecure,
		Text: "There are no operators yet. Create the first admin account with the setup code. The code is in the log of the service and expires after 30 minutes.",
	}})
}

func signInForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "email", Label: "Email", Type: "email", Autocomplete: "username", Required: true, MaxLength: 254},
		{Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password", Required: true},
	}}}}
}

func showSignIn(v *visit) error {
	back := local(v.r.URL.Query().Get("return"))
	if v.signedIn {
		v.redirect(back)
		return nil
	}
	offered, err := v.operators.NeedsSetup(v.r.Context())
	if err != nil {
		return err
	}
	if offered {
		v.redirect("setup")
		return nil
	}
	return v.renderSignIn(http.StatusOK, signInForm(), back, v.insecure())
}

// insecure reports whether the browser loaded this page from an address where
// it keeps no Secure cookie. A browser sends no Sec-Fetch-Mode to such an
// address; a proxy that terminates TLS forwards the header.
func (v *visit) insecure() bool {
	return v.r.TLS == nil && v.r.Header.Get("Sec-Fetch-Mode") == "" && v.r.Header.Get("User-Agent") != "" && v.operators.SecureSession(v.r)
}

func signIn(v *visit) error {
	f := signInForm()
	f.fill(v)
	back := local(v.sent("return"))
	_, err := v.operators.SignIn(v.w, v.r, v.sent("email"), v.r.PostForm.Get("password"))
	if err == nil {
		v.redirect(back)
		return nil
	}
	if errors.Is(err, operator.ErrSecondFactor) {
		v.askForCode(back)
		return nil
	}
	status, err := v.rejectPassword(f, err, "Incorrect email or password.")
	if err != nil {
		return err
	}
	return v.renderSignIn(status, f, back, false)
}

// rejectPassword adds the reason why a password was not accepted to the form and
// returns the HTTP status. It returns any other error unchanged.
func (v *visit) rejectPassword(f *form, err error, wrong string) (status int, _ error) {
	if throttled, ok := errors.AsType[*operator.ThrottledError](err); ok {
		seconds := int(math.Ceil(throttled.RetryAfter.Seconds()))
		v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		wait := count(seconds, "second")
		if seconds > 90 {
			wait = count(int(math.Ceil(float64(seconds)/60)), "minute")
		}
		f.Problem = "Too many failed attempts. Try again in " + wait + "."
		return http.StatusTooManyRequests, nil
	}
	if errors.Is(err, operator.ErrCredentials) {
		f.Problem = wrong
		return http.StatusUnprocessableEntity, nil
	}
	return 0, err
}

func signOut(v *visit) error {
	if err := v.operators.SignOut(v.w, v.r); err != nil {
		return err
	}
	v.redirect("sign-in")
	return nil
}

func setupForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "code", Label: "Setup code", Hint: "Written to the log of the service.", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true},
		{Name: "email", Label: "Email", Type: "email", Autocomplete: "username", Required: true, MaxLength: 254},
		newPassword("password", "Password"),
	}}}}
}

func newPassword(name, label string) *field {
	return &field{Name: name, Label: label, Type: "password", Autocomplete: "new-password", Required: true,
		Hint: "At least " + strconv.Itoa(operator.MinPassword) + " characters, spaces allowed. A sentence is easy to remember."}
}

func showSetup(v *visit) error {
	offered, err := v.operators.NeedsSetup(v.r.Context())
	if err != nil {
		return err
	}
	if !offered {
		v.redirect("sign-in")
		return nil
	}
	return v.renderSetup(http.StatusOK, setupForm(), v.insecure())
}

func setUp(v *visit) error {
	f := setupForm()
	f.fill(v)
	status := http.StatusUnprocessableEntity
	_, err := v.operators.CompleteSetup(v.w, v.r, v.sent("code"), v.sent("email"), v.r.PostForm.Get("password"))
	switch {
	case err == nil:
		v.redirect("")
		return nil
	case errors.Is(err, operator.ErrAlreadySetUp):
		v.redirect("sign-in")
		return nil
	case errors.Is(err, operator.ErrSetupCode):
		f.addError("code", "This code is incorrect or expired. Reload this page to write a new code to the log.")
	case f.takeErrors(err):
	default:
		if status, err = v.rejectPassword(f, err, ""); err != nil {
			return err
		}
	}
	return v.renderSetup(status, f, false)
}

func passwordForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		currentPassword(),
		newPassword("password", "New password"),
	}}}}
}

func changePassword(v *visit) error {
	f := passwordForm()
	f.fill(v)
	err := v.operators.ChangePassword(v.w, v.r, v.r.PostForm.Get("current"), v.r.PostForm.Get("password"))
	if err == nil {
		v.redirectDone("password", "Your password has been changed. Your other sessions have ended.")
		return nil
	}
	if f.takeErrors(err) {
		return v.renderAccount(http.StatusUnprocessableEntity, f)
	}
	status, err := v.rejectCurrent(f, err)
	if status == 0 {
		return err
	}
	return v.renderAccount(status, f)
}
