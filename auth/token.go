package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// kindToken is the kind of the entries of tokens, with the client as the owner.
const kindToken = "token"

// tokenIDLen is the length of the part of a token that identifies its entry: the
// prefix and 16 random characters (95 bits). The other 27 (160 bits) belong to the
// token alone.
const tokenIDLen = prefixLen + 16

// A token is the stored form of one or more access tokens that were issued in the
// same update and are alike. What they allow also depends on the current state of
// their client; see narrow. Changing a client therefore never writes its tokens:
// tokens that end stay in the store until they expire and are purged.
type token struct {
	Key       string    `json:"-"` // see tokenKey
	ClientID  string    `json:"-"`
	IssuedAt  time.Time `json:"-"`
	ExpiresAt time.Time `json:"-"`

	SecretID   string   `json:"secret_id"` // the secret it was issued for
	Scopes     []string `json:"scopes"`
	Generation int64    `json:"generation,omitempty"` // of the client when it was issued

	Digests string `json:"digests"` // of the tokens, one after the other

	Products []string `json:"-"` // those of the client

	id string // what the tokens begin with; only known while they are issued
}

// newTokenID returns what the tokens of an entry begin with.
func newTokenID() string {
	return string(appendRandom(append(make([]byte, 0, tokenIDLen), tokenPrefix...), tokenIDLen))
}

// add makes another token.
func (t *token) add() (raw string) {
	raw = newCredentialFrom(t.id)
	t.Digests += shortDigest(raw)
	return raw
}

// tokenKey returns the key of the entry of a token.
func tokenKey(raw string) string { return digest(raw[:tokenIDLen])[:32] }

// digestLen is the length of a digest in token.Digests.
var digestLen = base64.RawStdEncoding.EncodedLen(sha256.Size)

// shortDigest returns the digest of a token for token.Digests.
func shortDigest(raw string) string {
	sum := sha256.Sum256([]byte(raw))
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// find returns the position of a token in Digests, or -1.
func (t token) find(raw string) int {
	want := shortDigest(raw)
	for i := 0; i < len(t.Digests); i += digestLen {
		if t.Digests[i:min(i+digestLen, len(t.Digests))] == want {
			return i
		}
	}
	return -1
}

// readTokens returns the tokens of an entry and how many these are.
func readTokens(e store.Entry) (t token, size int) {
	t, err := readToken(e)
	if err != nil {
		return t, 1 // none that is valid, but the entry can be removed
	}
	return t, max(1, len(t.Digests)/digestLen)
}

// findToken returns the entry of a token, or errBadToken.
func findToken(ctx context.Context, r store.Reader, raw string) (token, error) {
	e, err := r.Entry(ctx, kindToken, tokenKey(raw))
	if errors.Is(err, store.ErrNotFound) {
		return token{}, errBadToken
	}
	if err != nil {
		return token{}, err
	}
	t, err := readToken(e)
	if err == nil && t.find(raw) < 0 {
		err = errBadToken
	}
	return t, err
}

func readToken(e store.Entry) (token, error) {
	var t token
	if err := json.Unmarshal(e.Data, &t); err != nil {
		return token{}, fmt.Errorf("auth: token of client %s is unreadable: %w", e.Owner, err)
	}
	t.Key, t.ClientID, t.IssuedAt, t.ExpiresAt = e.Key, e.Owner, e.CreatedAt, e.ExpiresAt
	return t, nil
}

// entry returns the entry of the tokens.
func (t token) entry() (store.Entry, error) {
	data, err := json.Marshal(t)
	return store.Entry{
		Kind: kindToken, Key: t.Key, Owner: t.ClientID, Data: data,
		ExpiresAt: t.ExpiresAt, CreatedAt: t.IssuedAt, Move: store.Passing,
	}, err
}

// liveAt reports whether the token has not expired.
func (t token) liveAt(now time.Time) bool { return now.Before(t.ExpiresAt) }

// narrow limits t to what its client allows and reports whether any scope
// remains. A scope remains if the client has it and has not lost it since t was
// issued. A token of a revoked secret keeps no scope; a token of an expired
// secret keeps its scopes. The products are those of the client.
func (t *token) narrow(c clientRecord) bool {
	t.Scopes = slices.DeleteFunc(t.Scopes, func(s string) bool {
		return !slices.Contains(c.Scopes, s) || t.Generation < c.LostScopes[s]
	})
	t.Products = c.Products
	return !c.Disabled && c.hadSecret(t.SecretID) && len(t.Scopes) > 0
}
