package auth

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	// evictBatch is the largest number of tokens over the limit that one
	// issue removes. More are over the limit only after it was lowered.
	evictBatch = 100
	// useStep is how often the time of the last use is updated.
	useStep = 5 * time.Minute
)

// issue returns a new token for the requested scope. The update that writes the
// token verifies the client again, so that a change in between applies to it.
// Requests for tokens of one client that wait for the write lock at the same time
// share an update; see issueGroup.
func (a *Auth) issue(r *http.Request, client verified, scope string) (raw string, t token, err error) {
	if _, err := client.grant(scope); err != nil {
		return "", token{}, err
	}
	ctx := r.Context()
	for {
		m := &issuance{client: client, scope: scope}
		g, leads := a.groups.join(m)
		if leads {
			a.lead(ctx, g)
		} else {
			select {
			case <-g.done:
			case <-ctx.Done():
				return "", token{}, ctx.Err()
			}
			if g.abandoned {
				continue
			}
		}
		err := m.err
		if err == nil {
			err = g.err
		}
		if errors.Is(err, errBadClient) {
			err = a.failed(r, client.creds)
		}
		if err != nil {
			return "", token{}, err
		}
		return m.raw, *m.token, nil
	}
}

// lead runs the update of a group under the context of its leader. If that context
// ends, or the update panics, the group is abandoned.
func (a *Auth) lead(ctx context.Context, g *issueGroup) {
	g.abandoned = true
	defer a.groups.end(g)
	if before := g.before; before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			g.err = ctx.Err()
			return
		}
	}
	g.err = a.issueGroup(ctx, g)
	g.abandoned = g.err != nil && ctx.Err() != nil
}

// issueGroup stores the tokens of a group, which it closes when its update runs.
func (a *Auth) issueGroup(ctx context.Context, g *issueGroup) error {
	full := false
	err := a.st.Update(ctx, func(tx store.Tx) error {
		if a.groups.expectsMore() {
			runtime.Gosched()
		}
		a.groups.close(g)
		if err := tx.Want(ctx, store.Wanted{Entries: [][2]string{{kindClient, g.clientID}, {kindTokenCount, g.clientID}}}); err != nil {
			return err
		}
		entries, issued, err := g.entries(ctx, tx, a.opts.Tokens.TTL)
		if err != nil {
			return err
		}
		before, err := readTokenCount(ctx, tx, g.clientID)
		if err != nil {
			return err
		}
		count := before + issued
		if over := min(count-a.opts.Tokens.Max, evictBatch); over > 0 {
			full = true
			removed, cut, err := removeOldest(ctx, tx, g.clientID, over)
			if err != nil {
				return err
			}
			count -= removed
			entries = append(entries, cut...)
		}
		if err := putTokens(ctx, tx, g.clientID, before, count, entries); err != nil {
			return err
		}
		return g.noteUse(ctx, tx)
	})
	if full {
		a.cache.flush()
	}
	switch {
	case err == nil:
		a.clients.put(g.stored())
	case errors.Is(err, errBadClient):
		a.clients.drop(g.clientID)
	}
	return err
}

// reload verifies the client as stored in e.
func (v *verified) reload(e store.Entry) error {
	if bytes.Equal(e.Data, v.data) {
		return nil
	}
	return v.accept(e, true)
}

// grant returns the scopes of a token for a request with the parameter scope.
func (c clientRecord) grant(scope string) ([]string, error) {
	if scope == "" {
		return c.Scopes, nil
	}
	asked, ok := parseScope(scope)
	if !ok {
		return nil, invalidScope("The scope must be names separated by single spaces.")
	}
	for _, s := range asked {
		if !slices.Contains(c.Scopes, s) {
			return nil, invalidScope("The scope exceeds the scopes of the client.")
		}
	}
	scopes := distinct(asked)
	sortScopes(scopes)
	return scopes, nil
}

func invalidScope(description string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_scope", Description: description}
}

// noteUse sets the time at which a secret was used, and returns true, unless the
// stored time is recent. A time in the future was stored while a clock was ahead
// and is replaced.
func (c *clientRecord) noteUse(secretID, via string, at time.Time) bool {
	i := slices.IndexFunc(c.Secrets, func(s secretRecord) bool { return s.ID == secretID })
	if since := at.Sub(c.Secrets[i].LastUsedAt); since >= 0 && since < useStep {
		return false
	}
	c.Secrets = slices.Clone(c.Secrets)
	c.Secrets[i].LastUsedAt = at
	c.LastUsedAt, c.LastUsedVia = at, via
	return true
}
