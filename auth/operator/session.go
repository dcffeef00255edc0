package operator

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/seed-d8a106b4/licensekit/auth/internal/loopback"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	kindSession     = "session"
	sessionCookie   = "licensing_session"
	sessionLifetime = 12 * time.Hour
	stayLifetime    = 14 * 24 * time.Hour // of an operator who stays signed in on a device
)

// manager returns the session manager for one request.
//
// It is a literal because scs.New starts a goroutine that nothing stops. The
// cookie has no Path, so a browser limits it to the folder of the page that
// set it, wherever that is mounted; all pages that set it must be in one
// folder. Sessions are written only by Load and Commit, not by the middleware
// of scs: it saves what it loaded, and so would restore a session that was
// ended in the meantime.
func (s *Service) manager(r *http.Request) *scs.SessionManager {
	return &scs.SessionManager{
		Lifetime:         sessionLifetime,
		Store:            sessionStore{s},
		Codec:            scs.GobCodec{},
		HashTokenInStore: true,
		// Only the middleware of scs calls this, and it is not used.
		ErrorFunc: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusServiceUnavailable) },
		Cookie: scs.SessionCookie{
			Name:     sessionCookie,
			HttpOnly: true,
			SameSite: http.SameSiteLaxMode,
			Secure:   internals{s}.SecureSession(r),
		},
	}
}

// SecureSession reports whether a session that begins with r has a Secure
// cookie, which browsers keep over TLS only. It does not on plain HTTP to a
// loopback address.
func (s internals) SecureSession(r *http.Request) bool { return !loopback.Plain(r) }

// bare hides the values of a context: a host that uses scs in the same way
// keeps its session under the same key.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

// session loads the session of r, or an empty one. The context that it returns
// is for the methods of the manager.
func (s *Service) session(r *http.Request) (*scs.SessionManager, context.Context, error) {
	token := ""
	if c, err := r.Cookie(sessionCookie); err == nil {
		token = c.Value
	}
	m := s.manager(r)
	ctx, err := m.Load(bare{r.Context()}, token)
	return m, ctx, err
}

// Session returns the operator who is signed in, or [signin.ErrNoSession]. It reads
// the store on every call, so a session that ended in any process has ended.
func (s internals) Session(r *http.Request) (Operator, error) {
	in, err := s.loadSession(r)
	return in.Operator, err
}

func (s *Service) loadSession(r *http.Request) (signedIn, error) {
	m, ctx, err := s.session(r)
	if err != nil {
		return signedIn{}, err
	}
	id := m.GetString(ctx, "operator")
	if id == "" {
		return signedIn{}, signin.ErrNoSession
	}
	e, rec, err := readRecord(ctx, s.st, id)
	switch {
	case errors.Is(err, api.ErrNotFound):
		return signedIn{}, signin.ErrNoSession
	case err != nil:
		return signedIn{}, err
	case rec.Disabled || rec.Generation != m.GetInt64(ctx, "generation"):
		return signedIn{}, signin.ErrNoSession
	}
	return signedIn{Operator: rec.operator(e), generation: rec.Generation, stay: m.GetBool(ctx, "stay")}, nil
}

// SignIn checks an e-mail address and a password, sets the cookie of a new
// session on w, and appends operator.signed_in. The session lasts twelve hours, and its
// cookie until the browser is closed; with stay, both last fourteen days.
// SignIn returns [signin.ErrCredentials] or [ErrThrottled]. It returns [signin.ErrSecondFactor] if
// the operator has a second factor: the cookie is then only good for
// CompleteSignIn, for five minutes.
//
// Call it, and every other method that takes a ResponseWriter, before anything
// is written to w, and only on pages of one folder.
func (s internals) SignIn(w http.ResponseWriter, r *http.Request, email, password string, stay bool) (Operator, error) {
	in, err := s.checkCredentials(r.Context(), email, password, s.clientIP(r))
	if err != nil {
		return Operator{}, err
	}
	in.stay = stay
	return s.finishSignIn(w, r, in)
}

// finishSignIn opens a session. It returns [signin.ErrSecondFactor] if that session is
// only good for CompleteSignIn.
func (s *Service) finishSignIn(w http.ResponseWriter, r *http.Request, in signedIn) (Operator, error) {
	if err := s.openSession(w, r, in); err != nil {
		return Operator{}, err
	}
	if in.pending {
		return Operator{}, signin.ErrSecondFactor
	}
	return in.Operator, nil
}

// openSession sets the cookie of a new session, with a new token.
func (s *Service) openSession(w http.ResponseWriter, r *http.Request, in signedIn) error {
	m, ctx, err := s.session(r)
	if err != nil {
		return err
	}
	if err := m.Clear(ctx); err != nil {
		return err
	}
	if err := m.RenewToken(ctx); err != nil { // the token that came with the request is no longer valid
		return err
	}
	lifetime, name, cookie := sessionLifetime, "operator", m.Cookie
	age := 0 // until the browser is closed
	switch {
	case in.pending:
		lifetime, name = pendingLifetime, "pending"
	case in.stay:
		lifetime, age = stayLifetime, int(stayLifetime.Seconds())
	}
	m.SetDeadline(ctx, s.now().Add(lifetime))
	m.Put(ctx, name, in.ID)
	m.Put(ctx, "generation", in.generation)
	m.Put(ctx, "stay", in.stay)
	m.Put(ctx, "address", s.address(r))
	m.Put(ctx, "agent", strings.ToValidUTF8(r.UserAgent()[:min(len(r.UserAgent()), maxUserAgent)], ""))
	token, _, err := m.Commit(ctx)
	if err == nil { // scs would count the age of the cookie by another clock
		http.SetCookie(w, &http.Cookie{Name: cookie.Name, Value: token, MaxAge: age, HttpOnly: cookie.HttpOnly, SameSite: cookie.SameSite, Secure: cookie.Secure})
	}
	return err
}

// address returns the address of the client, or "" if it is unknown.
func (s *Service) address(r *http.Request) string { return addressText(s.clientIP(r)) }

// SignOut removes the session cookie and ends all sessions of the operator who
// is signed in, in every process. Without a session it only removes the
// cookie.
func (s internals) SignOut(w http.ResponseWriter, r *http.Request) error {
	m, ctx, err := s.session(r)
	if err != nil {
		return err
	}
	in, err := s.loadSession(r)
	if err == nil {
		err = s.asOperator(in.ID).SignOutEverywhere(r.Context(), in.ID)
	}
	if err != nil && !errors.Is(err, signin.ErrNoSession) {
		return err
	}
	if err := m.Destroy(ctx); err != nil {
		return err
	}
	m.WriteSessionCookie(ctx, w, "", time.Time{})
	return nil
}

// ChangePassword sets a new password for the operator who is signed in, if the
// current password is right. It ends all sessions of the operator and sets the
// cookie of a new one on w. It returns [signin.ErrNoSession], [signin.ErrCredentials],
// [ErrThrottled], or an [*api.InvalidError] about "password".
func (s internals) ChangePassword(w http.ResponseWriter, r *http.Request, current, next string) error {
	ctx := r.Context()
	in, err := s.loadSession(r)
	if err != nil {
		return err
	}
	if err := invalidPassword(next, in.Email); err != nil {
		return err
	}
	if _, err := s.asOperator(in.ID).checkCredentials(ctx, in.Email, current, s.clientIP(r)); err != nil {
		return err
	}
	hash, err := hashPassword(ctx, next)
	if err != nil {
		return err
	}
	return s.changeSignedIn(w, r, in, func(rec *record) (changes, error) {
		rec.Password = hash
		return changes{"password": {}}, nil
	})
}

// changeSignedIn runs fn on the operator who is signed in. If fn reports changes,
// it opens a new session in place of all others.
func (s *Service) changeSignedIn(w http.ResponseWriter, r *http.Request, in signedIn, fn func(*record) (changes, error)) error {
	changed := false
	op, err := s.asOperator(in.ID).change(r.Context(), in.ID, func(_ store.Tx, rec *record) (changes, error) {
		if rec.Generation != in.generation {
			return nil, signin.ErrNoSession // signed out in the meantime
		}
		made, err := fn(rec)
		changed = len(made) > 0
		return made, err
	})
	if err != nil || !changed {
		return err
	}
	return s.openSession(w, r, signedIn{Operator: op, generation: in.generation + 1, stay: in.stay})
}
