package auth

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ServeRevoke is the revocation endpoint of RFC 7009: POST with the token and
// the client's credentials, in the ways that [Auth.ServeToken] takes them.
// Whatever the token is, the answer is 200 with an empty object; it ends the
// token if that is the client's own.
func (a *Auth) ServeRevoke(w http.ResponseWriter, r *http.Request) {
	a.serve(w, r, []string{http.MethodPost}, func() (any, error) {
		client, raw, err := a.readTokenRequest(w, r)
		if err != nil {
			return nil, err
		}
		return struct{}{}, a.revoke(r.Context(), client.ID, raw)
	})
}

// readTokenRequest reads a request about a token from an authenticated client.
func (a *Auth) readTokenRequest(w http.ResponseWriter, r *http.Request) (client verified, raw string, err error) {
	// token_type_hint is known so that it cannot be there twice; there is
	// only one type.
	req, err := a.readRequest(w, r, "token", "token_type_hint")
	if err != nil {
		return verified{}, "", err
	}
	if req.params["token"] == "" {
		return verified{}, "", invalidRequest("The parameter token is missing.")
	}
	client, err = a.authenticate(r, req.creds)
	return client, req.params["token"], err
}

// revoke ends a token of a client. Most tokens that come here have ended
// already, so it looks before it asks for an update.
func (a *Auth) revoke(ctx context.Context, clientID, raw string) error {
	t, err := a.token(ctx, raw)
	if errors.Is(err, errBadToken) || err == nil && t.ClientID != clientID {
		return nil
	}
	if err != nil {
		return err
	}
	return a.st.Update(ctx, func(tx store.Tx) error {
		switch err := tx.DeleteEntry(ctx, kindToken, t.Key); {
		case errors.Is(err, store.ErrNotFound): // someone was faster
			return nil
		case err != nil:
			return err
		}
		return tx.AddTally(ctx, kindToken, clientID, -1)
	})
}
