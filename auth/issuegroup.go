package auth

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// maxGroup is the largest number of tokens that one update stores.
const maxGroup = 16

// An issuance is a request for a token.
type issuance struct {
	client verified // after the update: as stored
	scope  string

	// Set by the update.
	raw   string
	token *token
	err   error // why this request gets no token
}

// An issueGroup is the requests for tokens of one client that share an update. The
// request that starts the group leads it: it runs the update when that of the group
// before it has ended, since both change the number of the client's tokens. Until the
// update runs, other requests join the group and wait for its end.
type issueGroup struct {
	clientID string
	at       time.Time   // of its first request
	members  []*issuance // complete when the group is closed

	before    *issueGroup   // of the client, if it has not ended; only for the leader
	done      chan struct{} // closed when the update has ended
	err       error         // set before: why no token was stored
	abandoned bool          // set before: the request of the leader ended, so the others must try again
}

// entries makes the tokens of the group and returns their entries and how many
// tokens these have. Tokens with the same secret and scopes have one entry; all are
// issued at the time of the latest request. It returns an error if no request gets a
// token.
func (g *issueGroup) entries(ctx context.Context, tx store.Tx, ttl time.Duration) (entries []store.Entry, issued int, err error) {
	e, err := tx.Entry(ctx, kindClient, g.clientID)
	if errors.Is(err, store.ErrNotFound) {
		err = errBadClient
	}
	if err != nil {
		return nil, 0, err
	}
	at := g.at
	for _, m := range g.members {
		if m.client.at.After(at) {
			at = m.client.at
		}
	}
	var tokens []*token
	for _, m := range g.members {
		if m.err = m.client.reload(e); m.err != nil {
			continue
		}
		scopes, err := m.client.grant(m.scope)
		if m.err = err; err != nil {
			continue
		}
		i := slices.IndexFunc(tokens, func(t *token) bool { return t.SecretID == m.client.secretID && slices.Equal(t.Scopes, scopes) })
		if i < 0 {
			i = len(tokens)
			id := newTokenID()
			tokens = append(tokens, &token{
				id: id, Key: tokenKey(id), ClientID: g.clientID, IssuedAt: at, ExpiresAt: at.Add(ttl),
				SecretID: m.client.secretID, Scopes: scopes, Generation: m.client.Generation,
			})
		}
		m.token = tokens[i]
		m.raw = m.token.add()
		issued++
	}
	if len(tokens) == 0 {
		return nil, 0, g.members[0].err
	}
	entries = make([]store.Entry, 0, len(tokens)+2) // two more for removeOldest and the count
	for _, t := range tokens {
		entry, err := t.entry()
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, entry)
	}
	return entries, issued, nil
}

// stored returns the client as the update has read it.
func (g *issueGroup) stored() (v verified) {
	for _, m := range g.members {
		if m.err == nil {
			v = m.client
		}
	}
	return v
}

// noteUse stores the times at which the secrets were used, unless the stored times
// are recent.
func (g *issueGroup) noteUse(ctx context.Context, tx store.Tx) error {
	c, changed := g.stored().clientRecord, false
	for _, m := range g.members {
		if m.err == nil && c.noteUse(m.client.secretID, m.client.creds.via, m.client.at) {
			changed = true
		}
	}
	if !changed {
		return nil
	}
	return c.put(ctx, tx)
}

// issueGroups has the groups that other requests can join.
type issueGroups struct {
	max int // members of a group

	mu     sync.Mutex
	open   map[string]*issueGroup // by client
	last   map[string]*issueGroup // by client, until it has ended
	shared bool                   // the last group had several members
}

func newIssueGroups(maxTokens int) *issueGroups {
	return &issueGroups{max: min(maxGroup, maxTokens), open: map[string]*issueGroup{}, last: map[string]*issueGroup{}}
}

// join adds a request to the open group of its client, or to a new one, which it
// leads.
func (q *issueGroups) join(m *issuance) (g *issueGroup, leads bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	g, ok := q.open[m.client.ID]
	if !ok || len(g.members) == q.max {
		g, leads = &issueGroup{clientID: m.client.ID, at: m.client.at, done: make(chan struct{})}, true
		g.before, q.open[m.client.ID], q.last[m.client.ID] = q.last[m.client.ID], g, g
	}
	g.members = append(g.members, m)
	return g, leads
}

// close makes sure that no other request joins the group.
func (q *issueGroups) close(g *issueGroup) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open[g.clientID] == g {
		delete(q.open, g.clientID)
	}
	q.shared = len(g.members) > 1
}

// end tells the requests of a group, and the next group of its client, that its update
// has ended.
func (q *issueGroups) end(g *issueGroup) {
	q.close(g)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last[g.clientID] == g {
		delete(q.last, g.clientID)
	}
	g.before = nil
	close(g.done)
}

// expectsMore reports whether to let other goroutines run before a group is
// closed. If the last group had several members, their callers may be about to
// request the next tokens.
func (q *issueGroups) expectsMore() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shared
}
