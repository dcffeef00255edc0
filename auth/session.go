package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ErrNoSession: the request carries no session, or one that has ended.
var ErrNoSession = errors.New("auth: not signed in")

const (
	kindSession     = "session"
	sessionCookie   = "licensing_session"
	sessionLifetime = 12 * time.Hour
)

// sessions returns the session manager for one request.
//
// It is a literal because scs.New starts a goroutine that nothing stops. The
// cookie has no Path, so that a browser scopes it to the folder of the page
// that set it, wherever that is mounted; so all pages that set it must lie in
// one folder. Only such pages write sessions, by Load and Commit: a middleware
// that saves what it has loaded would bring a session back that was ended
// while it ran.
func (a *Auth) sessions(r *http.Request) *scs.SessionManager {
	return &scs.SessionManager{
		Lifetime:         sessionLifetime,
		Store:            sessionStore{a},
		Codec:            scs.GobCodec{},
		HashTokenInStore: true,
		// Only scs's middleware would call this, and we do not use it.
		ErrorFunc: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusServiceUnavailable) },
		Cookie: scs.SessionCookie{
			Name:     sessionCookie,
			HttpOnly: true,
			SameSite: http.SameSiteLaxMode,
			Secure:   !PlainLoopback(r),
		},
	}
}

// PlainLoopback reports whether r came over plain HTTP to a loopback name:
// the one case in which a browser may not keep a Secure cookie and needs none.
// A proxy that speaks TLS for us may well call us by such a name; then the
// Origin of a form tells how the browser got there.
func PlainLoopback(r *http.Request) bool {
	if r.TLS != nil || !isLoopback(r.Host) {
		return false
	}
	origin := r.Header.Get("Origin")
	host, plain := strings.CutPrefix(origin, "http://")
	return origin == "" || plain && isLoopback(host)
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// bare hides the values of a context: a host that uses scs itself, with a
// literal like ours, keeps its session under the same key.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

// session loads the session of r, an empty one if there is none. The context
// it returns is for the manager's methods.
func (a *Auth) session(r *http.Request) (*scs.SessionManager, context.Context, error) {
	token := ""
	if c, err := r.Cookie(sessionCookie); err == nil {
		token = c.Value
	}
	m := a.sessions(r)
	ctx, err := m.Load(bare{r.Context()}, token)
	return m, ctx, err
}

// Session returns the operator whose session r carries, or [ErrNoSession].
// It reads the store on every call, so a session that has been ended anywhere
// is ended here.
func (a *Auth) Session(r *http.Request) (Operator, error) {
	in, err := a.loadSession(r)
	return in.Operator, err
}

func (a *Auth) loadSession(r *http.Request) (signedIn, error) {
	m, ctx, err := a.session(r)
	if err != nil {
		return signedIn{}, err
	}
	id := m.GetString(ctx, "operator")
	if id == "" {
		return signedIn{}, ErrNoSession
	}
	e, rec, err := readOperator(ctx, a.st, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return signedIn{}, ErrNoSession
	case err != nil:
		return signedIn{}, err
	case rec.Disabled || rec.Generation != m.GetInt64(ctx, "generation"):
		return signedIn{}, ErrNoSession
	}
	return signedIn{rec.operator(e), rec.Generation}, nil
}

// SignIn checks an address and a password and answers with the cookie of a
// new session, which lasts twelve hours or until it is ended. The errors are
// [ErrCredentials] and [ErrThrottled].
//
// Call it, as everything that takes a ResponseWriter here, before anything is
// written, and only on pages of one folder.
func (a *Auth) SignIn(w http.ResponseWriter, r *http.Request, email, password string) (Operator, error) {
	in, err := a.checkCredentials(r.Context(), email, password, a.opts.ClientIP(r))
	if err != nil {
		return Operator{}, err
	}
	return in.Operator, a.openSession(w, r, in)
}

// openSession answers with the cookie of a new session, under a new token.
func (a *Auth) openSession(w http.ResponseWriter, r *http.Request, in signedIn) error {
	m, ctx, err := a.session(r)
	if err != nil {
		return err
	}
	if err := m.Clear(ctx); err != nil {
		return err
	}
	if err := m.RenewToken(ctx); err != nil { // whatever token came with the request counts no more
		return err
	}
	m.SetDeadline(ctx, a.now().Add(sessionLifetime))
	m.Put(ctx, "operator", in.ID)
	m.Put(ctx, "generation", in.generation)
	token, expires, err := m.Commit(ctx)
	if err != nil {
		return err
	}
	m.WriteSessionCookie(ctx, w, token, expires)
	return nil
}

// SignOut ends every session of the operator that r is signed in as, on every
// machine, and takes the cookie back. Without a session it only does the
// latter.
func (a *Auth) SignOut(w http.ResponseWriter, r *http.Request) error {
	m, ctx, err := a.session(r)
	if err != nil {
		return err
	}
	in, err := a.loadSession(r)
	if err == nil {
		err = a.asOperator(in.ID).SignOutEverywhere(r.Context(), in.ID)
	}
	if err != nil && !errors.Is(err, ErrNoSession) {
		return err
	}
	if err := m.Destroy(ctx); err != nil {
		return err
	}
	m.WriteSessionCookie(ctx, w, "", time.Time{})
	return nil
}

// ChangePassword sets a new password for the operator that r is signed in as,
// after a look at the present one; ends every session of theirs; and answers
// with the cookie of a new one. The errors are [ErrNoSession],
// [ErrCredentials], [ErrThrottled], and an [*InvalidError] on "password".
func (a *Auth) ChangePassword(w http.ResponseWriter, r *http.Request, present, next string) error {
	ctx := r.Context()
	in, err := a.loadSession(r)
	if err != nil {
		return err
	}
	if code, detail := checkPassword(next, in.Email); code != "" {
		return &InvalidError{[]FieldError{{"password", code, detail}}}
	}
	b := a.asOperator(in.ID)
	if _, err := b.checkCredentials(ctx, in.Email, present, a.opts.ClientIP(r)); err != nil {
		return err
	}
	hash, err := hashPassword(ctx, next)
	if err != nil {
		return err
	}
	op, err := b.changeOperator(ctx, in.ID, func(_ store.Tx, rec *operatorRecord) (operatorChanges, error) {
		if rec.Generation != in.generation {
			return nil, ErrNoSession // signed out in the meantime, and so it stays
		}
		rec.Password = hash
		return operatorChanges{"password": {}}, nil
	})
	if err != nil {
		return err
	}
	return a.openSession(w, r, signedIn{op, in.generation + 1})
}
