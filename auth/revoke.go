package auth

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ServeRevoke is the revocation endpoint of RFC 7009: POST with the token and
// the client's credentials, in the ways that [Auth.ServeToken] takes them. It
// ends the token if the token belongs to the client. The answer is 200 with an
// empty object in any case.
func (a *Auth) ServeRevoke(w http.ResponseWriter, r *http.Request) {
	a.serve(w, r, []string{http.MethodPost}, func() (any, error) {
		client, raw, err := a.readTokenRequest(w, r)
		if err != nil {
			return nil, err
		}
		return struct{}{}, a.revoke(r.Context(), client.ID, raw)
	})
}

// readTokenRequest authenticates a client and returns the token it asks about.
func (a *Auth) readTokenRequest(w http.ResponseWriter, r *http.Request) (client verified, raw string, err error) {
	// Read token_type_hint only to refuse it if repeated: there is one type.
	req, err := a.readRequest(w, r, "token", "token_type_hint")
	if err != nil {
		return verified{}, "", err
	}
	if req.params["token"] == "" {
		return verified{}, "", invalidRequest("The parameter token is missing.")
	}
	client, err = a.authenticate(r, req.creds, false)
	return client, req.params["token"], err
}

// revoke ends a token of a client. Most tokens have ended before they are
// revoked, so revoke reads the token before it starts an update.
func (a *Auth) revoke(ctx context.Context, clientID, raw string) error {
	t, err := a.token(ctx, raw)
	if err == nil && t.ClientID != clientID {
		return nil
	}
	// Also if the token has ended already: another process may have ended it.
	defer a.cache.flush()
	if errors.Is(err, errBadToken) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.st.Update(ctx, func(tx store.Tx) error {
		t, err := findToken(ctx, tx, raw)
		if errors.Is(err, errBadToken) { // ended in the meantime
			return nil
		}
		if err != nil {
			return err
		}
		if len(t.Digests) <= digestLen {
			if err := tx.DeleteEntries(ctx, kindToken, t.Key); err != nil {
				return err
			}
			return changeTokenCount(ctx, tx, clientID, -1)
		}
		i := t.find(raw)
		t.Digests = t.Digests[:i] + t.Digests[i+digestLen:]
		e, err := t.entry()
		if err != nil {
			return err
		}
		return changeTokenCount(ctx, tx, clientID, -1, e)
	})
}
