package dashboard

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
)

// gate is the body of the pages before one is signed in.
type gate struct {
	Form   *form
	Return string // where to go then, as a reference from dashboard/
	Plain  bool   // the browser will not keep a session on this address
}

func signInForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "email", Label: "E-mail", Type: "email", Autocomplete: "username", Required: true, MaxLength: 254},
		{Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password", Required: true},
	}}}}
}

func showSignIn(v *visit) error {
	back := local(v.r.URL.Query().Get("return"))
	if v.known {
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
	return v.render(http.StatusOK, "signin", page{Title: "Sign in", Gate: true, Body: gate{signInForm(), back, v.plain()}})
}

// plain reports whether this page came over an address on which browsers keep
// no Secure cookie: they leave out Sec-Fetch-Mode there. A proxy that speaks
// TLS for us passes it on.
func (v *visit) plain() bool {
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
	status, err := v.refuse(f, err, "The e-mail address or the password is wrong.")
	if err != nil {
		return err
	}
	return v.render(status, "signin", page{Title: "Sign in", Gate: true, Invalid: true, Body: gate{f, back, false}})
}

// refuse notes in the form why a password was not accepted, and returns the
// status; or the error, if it is another.
func (v *visit) refuse(f *form, err error, wrong string) (status int, _ error) {
	for _, g := range f.Groups {
		for _, x := range g.Fields {
			if x.Type == "password" {
				x.Value = ""
			}
		}
	}
	if throttled, ok := errors.AsType[*operator.ThrottledError](err); ok {
		seconds := int(math.Ceil(throttled.RetryAfter.Seconds()))
		v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		wait := count(seconds, "second")
		if seconds > 90 {
			wait = count(int(math.Ceil(float64(seconds)/60)), "minute")
		}
		f.Problem = "There were too many failed attempts. Try again in " + wait + "."
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
		{Name: "code", Label: "Set-up code", Hint: "From the log of the service, or from where it was started.", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true},
		{Name: "email", Label: "Your e-mail", Type: "email", Autocomplete: "username", Required: true, MaxLength: 254},
		newPassword("password", "Password"),
	}}}}
}

func newPassword(name, label string) *field {
	return &field{Name: name, Label: label, Type: "password", Autocomplete: "new-password", Required: true,
		Hint: "At least " + strconv.Itoa(operator.MinPassword) + " characters, spaces included. A sentence is easy to remember."}
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
	return v.render(http.StatusOK, "setup", page{Title: "Set up", Gate: true, Body: gate{Form: setupForm(), Plain: v.plain()}})
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
		f.wrong("code", "This code is wrong or has ended. Reload this page to have a new one written to the log.")
	case f.take(err):
	default:
		if status, err = v.refuse(f, err, ""); err != nil {
			return err
		}
	}
	f.Field("password").Value = ""
	return v.render(status, "setup", page{Title: "Set up", Gate: true, Body: gate{Form: f}})
}

func passwordForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "present", Label: "Present password", Type: "password", Autocomplete: "current-password", Required: true},
		newPassword("password", "New password"),
	}}}}
}

// account is the body of the page about oneself.
type account struct {
	Form       *form
	LastSignIn *moment
}

func showPassword(v *visit) error { return v.renderAccount(http.StatusOK, passwordForm()) }

func (v *visit) renderAccount(status int, f *form) error {
	return v.render(status, "account", page{Title: "Your account", Section: "account", Body: account{f, v.moment(v.op.LastSignInAt)}})
}

func changePassword(v *visit) error {
	f := passwordForm()
	f.fill(v)
	err := v.operators.ChangePassword(v.w, v.r, v.r.PostForm.Get("present"), v.r.PostForm.Get("password"))
	if err == nil {
		v.redirectDone("password", "password")
		return nil
	}
	if errors.Is(err, operator.ErrNoSession) {
		v.redirect("sign-in")
		return nil
	}
	if f.take(err) {
		f.Field("present").Value, f.Field("password").Value = "", ""
		return v.renderAccount(http.StatusUnprocessableEntity, f)
	}
	status, err := v.refuse(f, err, "")
	if err != nil {
		return err
	}
	if status == http.StatusUnprocessableEntity {
		f.Problem = ""
		f.wrong("present", "This is not your present password.")
	}
	return v.renderAccount(status, f)
}
