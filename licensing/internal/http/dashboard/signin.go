package dashboard

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
)

// A gate is a page with a form for visitors who are not signed in: the sign-in, its
// code, the setup and the acceptance of an invitation. A route with gate serves it
// for GET and POST.
type gate struct {
	Title, Heading, Text string
	Action               string // the label of the button
	Form                 *form
	Return               string // the page to open after the sign-in, as a reference from dashboard/
	Insecure             bool   // the browser will not keep a session from this address

	// away returns the page that the visitor belongs to instead, as a reference
	// from dashboard/; ok is false if there is none.
	away func(v *visit, back string) (to string, ok bool, err error)
	do   func(*visit) error // signs in
}

func (v *visit) showGate(g gate) error {
	g.Return = local(v.r.URL.Query().Get("return"))
	if g.away != nil {
		if to, ok, err := g.away(v, g.Return); err != nil {
			return err
		} else if ok {
			v.redirect(to)
			return nil
		}
	}
	return v.renderGate(http.StatusOK, g)
}

func (v *visit) renderGate(status int, g gate) error {
	g.Insecure = v.insecure()
	return v.render(status, "signin", page{Title: g.Title, Standalone: true, Invalid: g.Form.HasErrors(), Body: g})
}

// submitGate signs in with a submitted form.
func (v *visit) submitGate(g gate) error {
	f, status := g.Form, http.StatusUnprocessableEntity
	f.fill(v)
	g.Return = local(v.sent("return"))
	err := g.do(v)
	switch {
	case err == nil:
		v.redirect(g.Return)
		return nil
	case errors.Is(err, operator.ErrSecondFactor):
		to := "sign-in-code"
		if g.Return != "" {
			to += "?" + url.Values{"return": {g.Return}}.Encode()
		}
		v.redirect(to)
		return nil
	case errors.Is(err, operator.ErrAlreadySetUp), errors.Is(err, operator.ErrNoSession):
		v.redirect("sign-in")
		return nil
	case errors.Is(err, operator.ErrSetupCode):
		f.addError("code", "This code is incorrect or expired. Reload this page to write a new code to the log.")
	case errors.Is(err, operator.ErrInvitationCode):
		f.addError("code", "This code is incorrect, expired or already used. Ask an admin for a new one.")
	case errors.Is(err, operator.ErrCode):
		f.addError("otp", "This code is incorrect or was used before. Wait for the next code of the app.")
	case f.takeErrors(err):
	default:
		if status, err = v.rejectPassword(f, err, "Incorrect email or password."); err != nil {
			return err
		}
	}
	if x := f.Field("otp"); x != nil {
		x.Value = "" // no page repeats it
	}
	return v.renderGate(status, g)
}

func signInGate() gate {
	return gate{
		Title: "Sign in", Heading: "Sign in", Action: "Sign in",
		Form: newForm(
			&field{Name: "email", Label: "Email", Type: "email", Autocomplete: "username", Required: true, MaxLength: 254},
			&field{Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password", Required: true},
		),
		away: func(v *visit, back string) (string, bool, error) {
			if v.signedIn {
				return back, true, nil
			}
			offered, err := v.operators.NeedsSetup(v.r.Context())
			return "setup", offered, err
		},
		do: func(v *visit) error {
			_, err := v.operators.SignIn(v.w, v.r, v.sent("email"), v.r.PostForm.Get("password"))
			return err
		},
	}
}

func codeGate() gate {
	return gate{
		Title: "Enter code", Heading: "Enter code", Action: "Sign in",
		Text: "Your account has a second factor. Enter its code within five minutes.",
		Form: newForm(&field{
			Name: "otp", Label: "Code", Hint: "The six digits of the authenticator app, or a recovery code.",
			Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true, MaxLength: 40,
		}),
		away: func(v *visit, back string) (string, bool, error) { return back, v.signedIn, nil },
		do: func(v *visit) error {
			_, err := v.operators.CompleteSignIn(v.w, v.r, v.sent("otp"))
			return err
		},
	}
}

func setupGate() gate {
	return gate{
		Title: "Set up", Heading: "Set up the dashboard", Action: "Create admin account",
		Text: "There are no operators yet. Create the first admin account with the setup code. The code is in the log of the service and expires after 30 minutes.",
		Form: newForm(
			&field{Name: "code", Label: "Setup code", Hint: "Written to the log of the service.", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true},
			&field{Name: "email", Label: "Email", Type: "email", Autocomplete: "username", Required: true, MaxLength: 254},
			newPassword("password", "Password"),
		),
		away: func(v *visit, _ string) (string, bool, error) {
			offered, err := v.operators.NeedsSetup(v.r.Context())
			return "sign-in", !offered, err
		},
		do: func(v *visit) error {
			_, err := v.operators.CompleteSetup(v.w, v.r, v.sent("code"), v.sent("email"), v.r.PostForm.Get("password"))
			return err
		},
	}
}

// joinGate accepts an invitation.
func joinGate() gate {
	return gate{
		Title: "Accept invitation", Heading: "Choose a password", Action: "Continue",
		Text: "Use the invitation code from an admin of this dashboard.",
		Form: newForm(
			&field{Name: "code", Label: "Invitation code", Type: "text", Autocomplete: "one-time-code", Required: true, Mono: true},
			newPassword("password", "Password"),
		),
		do: func(v *visit) error {
			_, err := v.operators.AcceptInvitation(v.w, v.r, v.sent("code"), v.r.PostForm.Get("password"))
			return err
		},
	}
}

// insecure reports whether the browser loaded this page from an address where
// it keeps no Secure cookie. A browser sends no Sec-Fetch-Mode to such an
// address; a proxy that terminates TLS forwards the header.
func (v *visit) insecure() bool {
	return v.r.TLS == nil && v.r.Header.Get("Sec-Fetch-Mode") == "" && v.r.Header.Get("User-Agent") != "" && v.operators.SecureSession(v.r)
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

func newPassword(name, label string) *field {
	return &field{Name: name, Label: label, Type: "password", Autocomplete: "new-password", Required: true,
		Hint: "At least " + strconv.Itoa(operator.MinPassword) + " characters, spaces allowed. A sentence is easy to remember."}
}

func passwordForm() *form {
	return newForm(currentPassword(), newPassword("password", "New password"))
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
