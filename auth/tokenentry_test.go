package auth

import (
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// group issues n tokens in one update, which share an entry.
func (s *issuer) group(t *testing.T, n int) (tokens []string) {
	t.Helper()
	release := s.hold(t)
	var started []<-chan *httptest.ResponseRecorder
	for i := range n {
		started = append(started, s.start(t.Context(), s.secret, i+1))
	}
	release()
	for _, done := range started {
		tokens = append(tokens, accessToken(t, <-done))
	}
	return tokens
}

// entries returns the entries of tokens.
func (s *issuer) entries(t *testing.T) []store.Entry {
	t.Helper()
	is := is.New(t)
	entries, err := s.st.Store.Entries(t.Context(), store.EntryQuery{Kind: kindToken})
	is.NoErr(err)
	return entries
}

func TestTokensOfAGroupShareAnEntry(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	tokens := s.group(t, 5)
	entries := s.entries(t)
	is.Equal(len(entries), 1)
	for _, token := range tokens {
		is.Equal(token[:tokenIDLen], tokens[0][:tokenIDLen])
		is.True(token[tokenIDLen:tokenIDLen+8] != tokens[0][tokenIDLen:tokenIDLen+8] || token == tokens[0])
		is.Equal(s.try(t, token).body, "true "+s.client.ID+" [license:read license:write] []")
	}
	// Neither a token nor a part of one is stored.
	require.NotContains(t, s.st.written.String(), tokens[0][prefixLen:tokenIDLen])
	// A token that begins as one of them is not one of them.
	is.Equal(s.try(t, newCredentialFrom(tokens[0][:tokenIDLen])).status, 401)
	last := prefixLen + randomLen - 1
	other := "a"
	if tokens[0][last:last+1] == other {
		other = "b"
	}
	is.Equal(s.try(t, newCredentialFrom(tokens[0][:last]+other)).status, 401)
}

func TestTokensOfAGroupExpireTogether(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	release := s.hold(t)
	first := s.start(t.Context(), s.secret, 1)
	s.turn(time.Second)
	second := s.start(t.Context(), s.secret, 2)
	release()
	tokens := []string{accessToken(t, <-first), accessToken(t, <-second)}
	s.turn(time.Hour - time.Millisecond)
	for _, token := range tokens {
		is.Equal(s.try(t, token).status, 200) // for the hour that the answer says, from the later request on
	}
	s.turn(time.Millisecond)
	for _, token := range tokens {
		is.Equal(s.try(t, token).status, 401)
	}
	for {
		more, err := s.Purge(t.Context())
		is.NoErr(err)
		if !more {
			break
		}
	}
	is.Equal(len(s.entries(t)), 0)
	counted, _ := s.tally(t, s.client.ID)
	is.Equal(counted, 8) // the rest of the batch of ten
}

func TestRevokingATokenOfAGroupKeepsTheOthers(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) { o.Tokens.Max = 100 })
	tokens := s.group(t, 3)
	for i, token := range []string{tokens[1], tokens[0], tokens[2]} {
		for range 2 { // the second time has no effect
			is.NoErr(s.post(s.ServeRevoke, url.Values{"token": {token}}))
			is.Equal(s.try(t, token).status, 401)
			counted, stored := s.tally(t, s.client.ID)
			is.Equal(counted, 2-i)
			is.Equal(stored, 2-i)
		}
		if i == 0 {
			is.Equal(s.try(t, tokens[0]).status, 200)
			is.Equal(s.try(t, tokens[2]).status, 200)
		}
	}
	is.Equal(len(s.entries(t)), 0)
}

// A token ends exactly one other, also if that shares its entry.
func TestLimitEndsSomeTokensOfAGroup(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) { o.Tokens.Max = 20 })
	older := s.group(t, 9)
	s.turn(time.Second)
	newer := s.group(t, 9)
	live := func(tokens []string) (n int) {
		for _, token := range tokens {
			if s.try(t, token).status == 200 {
				n++
			}
		}
		return n
	}
	for i, left := range []int{9, 9, 8, 7, 6} {
		s.turn(time.Second)
		s.token(t, s.client.ID, s.secret)
		is.Equal(live(older), left)
		counted, stored := s.tally(t, s.client.ID)
		is.Equal(counted, min(19+i, 20))
		is.Equal(stored, min(19+i, 20))
	}
	s.turn(time.Second)
	last := s.group(t, 9) // ends six and three
	is.Equal(live(older), 0)
	is.Equal(live(newer), 6)
	is.Equal(live(last), 9)
	counted, stored := s.tally(t, s.client.ID)
	is.Equal(counted, 20)
	is.Equal(stored, 20)
}

// Tokens of one update that differ in scopes have different entries.
func TestTokensOfAGroupHaveTheirOwnScopes(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t)
	is.NoErr(s.st.Store.Update(t.Context(), func(tx store.Tx) error {
		v := verified{clientRecord: clientRecord{ID: s.client.ID}, creds: credentials{id: s.client.ID, secret: s.secret}, at: s.now()}
		groups := newIssueGroups(10)
		g, _ := groups.join(&issuance{client: v})
		for _, scope := range []string{"license:read", "license:write license:read", "license:read", "no:scope"} {
			groups.join(&issuance{client: v, scope: scope})
		}
		entries, err := g.entries(t.Context(), tx, time.Hour)
		is.NoErr(err)
		is.Equal(len(entries), 2)
		is.Equal(tokensIn(entries[0]), 2)
		is.Equal(tokensIn(entries[1]), 2)
		is.Equal(g.members[3].token.Scopes, []string{"license:read"})
		is.True(g.members[4].err != nil)
		return tx.PutEntries(t.Context(), entries...)
	}))
}

// Tokens of earlier versions have entries of their own, under their digests.
func TestTokensOfEarlierVersions(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) { o.Tokens.Max = 3 })
	var old []string
	for i := range 2 {
		raw := newCredential(tokenPrefix)
		old = append(old, raw)
		at := start.Add(time.Duration(i-10) * time.Minute)
		is.NoErr(s.st.Store.Update(t.Context(), func(tx store.Tx) error {
			data := `{"secret_id":"` + s.client.Secrets[0].ID + `","scopes":["license:read"]}`
			counts := tokenCounts{}
			counts.change(s.client.ID, 1)
			return counts.put(t.Context(), tx, store.Entry{
				Kind: kindToken, Key: digest(raw), Owner: s.client.ID, Data: []byte(data), CreatedAt: at, ExpiresAt: at.Add(time.Hour), Move: store.Passing,
			})
		}))
		is.Equal(s.try(t, raw).body, "true "+s.client.ID+" [license:read] []")
	}
	s.token(t, s.client.ID, s.secret)
	is.Equal(s.try(t, old[0]).status, 200)
	s.token(t, s.client.ID, s.secret)
	is.Equal(s.try(t, old[0]).status, 401) // the oldest of four
	is.Equal(s.try(t, old[1]).status, 200)
	is.NoErr(s.post(s.ServeRevoke, url.Values{"token": {old[1]}}))
	is.Equal(s.try(t, old[1]).status, 401)
	counted, stored := s.tally(t, s.client.ID)
	is.Equal(counted, 2)
	is.Equal(stored, 2)
}
