package files_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A fixture is a ring on a store, with a clock that the test moves.
type fixture struct {
	*files.Service
	t   *testing.T
	st  store.Store
	now time.Time
	log bytes.Buffer
}

func newFixture(t *testing.T, opts files.Options) *fixture {
	f := &fixture{t: t, st: memory.New(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	f.Service = f.open(opts)
	return f
}

// open returns another Service on the same store.
func (f *fixture) open(opts files.Options) *files.Service {
	opts.Now, opts.Logger = func() time.Time { return f.now }, slog.New(slog.NewTextHandler(&f.log, nil))
	return files.New(f.st, opts)
}

// states returns the states of all keys, oldest first.
func (f *fixture) states() string {
	f.t.Helper()
	keys, err := f.Keys(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	var all []string
	for _, k := range keys {
		all = append(all, string(k.State))
	}
	return strings.Join(all, " ")
}

// ids returns the IDs of all keys, oldest first.
func (f *fixture) ids() (ids []string) {
	f.t.Helper()
	keys, err := f.Keys(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	return ids
}

func (f *fixture) sign() string {
	f.t.Helper()
	text, err := f.Sign(f.t.Context(), licensefile.Claims{
		ID: "file", LicenseID: "lic_1", ProductID: "atlas", Generation: 1,
		IssuedAt: f.now, NotBefore: f.now, ExpiresAt: f.now.Add(time.Hour),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// signedBy verifies a file with the published set and returns the ID of its key.
func (f *fixture) signedBy(text string) (string, error) {
	f.t.Helper()
	set, err := f.KeySet(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	file, err := set.Verify(text)
	return file.KeyID, err
}

// events returns the types of all events, and asserts their subjects.
func (f *fixture) events() string {
	f.t.Helper()
	is := is.New(f.t)
	events, err := f.st.Events(f.t.Context(), store.EventQuery{Limit: 100})
	is.NoErr(err)
	var all []string
	for _, e := range events {
		all = append(all, strings.TrimPrefix(e.Type, "signing_key."))
		var data struct {
			Key struct{ ID string } `json:"signing_key"`
		}
		is.NoErr(json.Unmarshal(e.Data, &data))
		is.Equal(data.Key.ID, e.Subject)
		require.NotContains(f.t, string(e.Data), `"clear"`)
		require.NotContains(f.t, string(e.Data), `"sealed"`)
	}
	return strings.Join(all, " ")
}

func TestTheFirstUseCreatesTwoKeys(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	text := f.sign()
	is.Equal(f.states(), "active next")
	is.Equal(f.events(), "created created")
	set, err := f.KeySet(t.Context())
	is.NoErr(err)
	is.Equal(set.IDs(), f.ids())
	id, err := f.signedBy(text)
	is.NoErr(err)
	is.Equal(id, f.ids()[0])
	again := f.ids()
	is.Equal(again, f.ids())
	is.Equal(f.events(), "created created")
}

// TestConcurrentFirstUses runs on one store, as several processes would.
func TestConcurrentFirstUses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	var wg sync.WaitGroup
	for range 8 {
		s := f.open(files.Options{})
		wg.Go(func() {
			if keys, err := s.Keys(t.Context()); err != nil || len(keys) != 2 {
				t.Errorf("got %d keys and %v", len(keys), err)
			}
		})
	}
	wg.Wait()
	is.Equal(f.states(), "active next")
}

func TestRotationKeepsFilesValid(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	old := f.sign()
	ids := f.ids()
	_, err := f.RotateKey(t.Context(), files.RotateKeyParams{})
	require.ErrorIs(t, err, files.ErrKeyTooNew)
	is.Equal(f.states(), "active next") // nothing changed

	f.now = f.now.Add(files.MinPublished)
	k, err := f.As(auth.Caller{Actor: "operator:opr_1", RequestID: "req"}).RotateKey(t.Context(), files.RotateKeyParams{Algorithm: files.ES256})
	is.NoErr(err)
	is.Equal(k.ID, ids[1])
	is.Equal(k.State, files.KeyActive)
	is.Equal(k.StateAt, f.now)
	is.Equal(f.states(), "verify active next")
	_, err = f.RotateKey(t.Context(), files.RotateKeyParams{})
	require.ErrorIs(t, err, files.ErrKeyTooNew) // although the first key is old
	is.Equal(f.events(), "created created rotated created")
	events, err := f.st.Events(t.Context(), store.EventQuery{Limit: 100})
	is.NoErr(err)
	is.Equal(events[2].Actor, "operator:opr_1")
	is.Equal(events[2].RequestID, "req")
	require.Contains(t, string(events[2].Data), `"previous":"`+ids[0]+`"`)
	for text, want := range map[string]string{old: ids[0], f.sign(): ids[1]} {
		id, err := f.signedBy(text)
		is.NoErr(err)
		is.Equal(id, want)
	}

	k, err = f.RotateKey(t.Context(), files.RotateKeyParams{Force: true})
	is.NoErr(err)
	is.Equal(k.Algorithm, files.ES256)
	require.Contains(t, string(mustJWKS(t, f)), `"ES256"`)
	id, err := f.signedBy(f.sign())
	is.NoErr(err)
	is.Equal(id, k.ID)
	is.Equal(f.states(), "verify verify active next")
}

func mustJWKS(t *testing.T, f *fixture) []byte {
	t.Helper()
	set, err := f.KeySet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	jwks, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return jwks
}

func TestRetiredKeysLeaveTheSet(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	old := f.sign()
	_, err := f.RotateKey(t.Context(), files.RotateKeyParams{Force: true})
	is.NoErr(err)
	ids := f.ids()
	k, err := f.RetireKey(t.Context(), ids[0])
	is.NoErr(err)
	is.Equal(k.State, files.KeyRetired)
	_, err = f.signedBy(old)
	require.ErrorIs(t, err, licensefile.ErrUnknownKey)
	_, err = f.RetireKey(t.Context(), ids[0])
	require.ErrorIs(t, err, files.ErrKeyState)
	_, err = f.RetireKey(t.Context(), ids[1])
	require.ErrorIs(t, err, files.ErrKeyState) // active
	_, err = f.RetireKey(t.Context(), "unknown")
	require.ErrorIs(t, err, api.ErrNotFound)
	_, err = f.RetireKey(t.Context(), ids[2]) // next
	is.NoErr(err)
	is.Equal(f.states(), "retired active retired next")
	is.Equal(f.events(), "created created rotated created retired retired created")
}

func TestCondemnedKeysAreReplaced(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	old := f.sign()
	ids := f.ids()
	k, err := f.CondemnKey(t.Context(), files.CondemnKeyParams{ID: ids[0]}) // active; the next one is new
	is.NoErr(err)
	is.Equal(k.State, files.KeyCompromised)
	is.Equal(f.states(), "compromised active next")
	is.Equal(f.events(), "created created rotated compromised created")
	_, err = f.signedBy(old)
	require.ErrorIs(t, err, licensefile.ErrUnknownKey)
	id, err := f.signedBy(f.sign())
	is.NoErr(err)
	is.Equal(id, ids[1])

	_, err = f.CondemnKey(t.Context(), files.CondemnKeyParams{ID: ids[0]}) // again
	is.NoErr(err)
	_, err = f.CondemnKey(t.Context(), files.CondemnKeyParams{ID: f.ids()[2]}) // next
	is.NoErr(err)
	is.Equal(f.states(), "compromised active compromised next")
	_, err = f.CondemnKey(t.Context(), files.CondemnKeyParams{ID: "unknown"})
	require.ErrorIs(t, err, api.ErrNotFound)
	is.Equal(f.events(), "created created rotated compromised created compromised created")
}

// A next key that is removed is replaced by one of its algorithm.
func TestReplacementsKeepTheAlgorithm(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	f.ids()
	_, err := f.RotateKey(t.Context(), files.RotateKeyParams{Algorithm: files.ES256, Force: true})
	is.NoErr(err)
	next := func() files.Key {
		keys, err := f.Keys(t.Context())
		is.NoErr(err)
		is.Equal(keys[len(keys)-1].State, files.KeyNext)
		return keys[len(keys)-1]
	}
	_, err = f.CondemnKey(t.Context(), files.CondemnKeyParams{ID: next().ID})
	is.NoErr(err)
	is.Equal(next().Algorithm, files.ES256)
	_, err = f.RetireKey(t.Context(), next().ID)
	is.NoErr(err)
	is.Equal(next().Algorithm, files.ES256)
}

// TestAPrivateHalfKeptElsewhere is needed only when its key is activated.
func TestAPrivateHalfKeptElsewhere(t *testing.T) {
	for name, algorithm := range map[string]func() crypto.Signer{
		files.EdDSA: func() crypto.Signer { _, k, _ := ed25519.GenerateKey(rand.Reader); return k },
		files.ES256: func() crypto.Signer { k, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader); return k },
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t, files.Options{})
			private, other := algorithm(), algorithm()
			k, err := f.AddKey(t.Context(), files.AddKeyParams{Public: private.Public()})
			is.NoErr(err)
			is.Equal(k.Private, files.PrivateElsewhere)
			is.Equal(k.Algorithm, name)
			is.Equal(f.states(), "active next") // it is the successor of the first key
			_, err = f.AddKey(t.Context(), files.AddKeyParams{Public: private.Public()})
			require.ErrorIs(t, err, files.ErrKeyExists)

			_, err = f.RotateKey(t.Context(), files.RotateKeyParams{Force: true})
			require.ErrorIs(t, err, files.ErrNoPrivateKey)
			_, err = f.CondemnKey(t.Context(), files.CondemnKeyParams{ID: f.ids()[0]})
			require.ErrorIs(t, err, files.ErrNoPrivateKey)
			_, err = f.RotateKey(t.Context(), files.RotateKeyParams{Force: true, Private: other})
			require.ErrorIs(t, err, files.ErrNoPrivateKey)
			is.Equal(f.states(), "active next")
			active, err := f.RotateKey(t.Context(), files.RotateKeyParams{Force: true, Private: private})
			is.NoErr(err)
			is.Equal(active.ID, k.ID)
			is.Equal(active.Private, files.PrivatePlain)
			id, err := f.signedBy(f.sign())
			is.NoErr(err)
			is.Equal(id, k.ID)
		})
	}
}

func TestAddKeyRefuses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	_, err := f.AddKey(t.Context(), files.AddKeyParams{Algorithm: "RS256"})
	require.ErrorIs(t, err, licensefile.ErrKeyType)
	_, err = f.AddKey(t.Context(), files.AddKeyParams{Public: "no key"})
	require.ErrorIs(t, err, licensefile.ErrKeyType)
	_, err = f.RotateKey(t.Context(), files.RotateKeyParams{Algorithm: "RS256"})
	require.ErrorIs(t, err, licensefile.ErrKeyType)
	is.Equal(f.states(), "active next")
	k, err := f.AddKey(t.Context(), files.AddKeyParams{Algorithm: files.ES256})
	is.NoErr(err)
	is.Equal(k.Algorithm, files.ES256)
	is.Equal(f.states(), "active next next")
	_, err = f.RotateKey(t.Context(), files.RotateKeyParams{Force: true}) // the older one
	is.NoErr(err)
	is.Equal(f.states(), "verify active next")
}

// stored returns the data of all entries of the ring.
func (f *fixture) stored() string {
	f.t.Helper()
	entries, err := f.st.Entries(f.t.Context(), store.EntryQuery{Kind: "signing_key", Limit: 100})
	if err != nil {
		f.t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		b.Write(e.Data)
	}
	return b.String()
}

func TestAMasterKeyEncryptsPrivateHalves(t *testing.T) {
	is := is.New(t)
	master := []byte(strings.Repeat("m", 32))
	f := newFixture(t, files.Options{MasterKey: master})
	f.sign()
	require.NotContains(t, f.stored(), `"clear"`)
	is.Equal(f.log.String(), "")
	keys, err := f.Keys(t.Context())
	is.NoErr(err)
	is.Equal(keys[0].Private, files.PrivateSealed)

	for hint, opts := range map[string]files.Options{
		"set Options.MasterKey":     {},
		"another Options.MasterKey": {MasterKey: []byte(strings.Repeat("o", 32))},
	} {
		_, err := f.open(opts).Sign(t.Context(), licensefile.Claims{})
		is.True(err != nil)
		require.Contains(t, err.Error(), hint)
	}
	rotated := f.open(files.Options{MasterKey: []byte(strings.Repeat("o", 32)), PreviousMasterKeys: [][]byte{master}})
	_, err = rotated.Sign(t.Context(), licensefile.Claims{
		ID: "file", LicenseID: "lic_1", ProductID: "atlas", Generation: 1, IssuedAt: f.now, NotBefore: f.now, ExpiresAt: f.now.Add(time.Hour),
	})
	is.NoErr(err)
	count := func(s *files.Service) files.SecretCounts {
		n, err := s.SecretCounts(t.Context())
		is.NoErr(err)
		return n
	}
	is.Equal(count(f.open(files.Options{MasterKey: master})), files.SecretCounts{Sealed: 2})
	is.Equal(count(f.open(files.Options{})), files.SecretCounts{Unreadable: 2})
	is.Equal(count(rotated), files.SecretCounts{Previous: 2})
	_, err = rotated.RotateKey(t.Context(), files.RotateKeyParams{Force: true})
	is.NoErr(err)
	is.Equal(count(rotated), files.SecretCounts{Sealed: 1, Previous: 1}) // the key before no longer signs
	set, err := f.open(files.Options{}).KeySet(t.Context())              // public halves need no key
	is.NoErr(err)
	is.Equal(len(set.IDs()), 3)
}

func TestWithoutAMasterKeyTheLogWarnsOnce(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	f.sign()
	require.Contains(t, f.stored(), `"clear"`)
	is.Equal(strings.Count(f.log.String(), "signing keys are stored in plain text"), 1)
	_, err := f.RotateKey(t.Context(), files.RotateKeyParams{Force: true})
	is.NoErr(err)
	is.Equal(strings.Count(f.log.String(), "signing keys are stored in plain text"), 1)
}

func TestKeysOfTheHost(t *testing.T) {
	is := is.New(t)
	_, first, _ := ed25519.GenerateKey(rand.Reader)
	second, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	f := newFixture(t, files.Options{SigningKeys: []files.SigningKey{{Signer: first}}})
	text := f.sign()
	is.Equal(f.states(), "active") // no key is generated after one of the host
	id, err := f.signedBy(text)
	is.NoErr(err)
	want, err := licensefile.KeyID(first.Public())
	is.NoErr(err)
	is.Equal(id, want)
	require.NotContains(t, f.stored(), `"clear"`)
	_, err = f.CondemnKey(t.Context(), files.CondemnKeyParams{ID: id})
	require.ErrorIs(t, err, files.ErrNoNextKey)

	f.Service = f.open(files.Options{SigningKeys: []files.SigningKey{{Signer: first}, {Signer: second}}})
	is.Equal(f.states(), "active next")
	keys, err := f.Keys(t.Context())
	is.NoErr(err)
	is.Equal(keys[1].Private, files.PrivateHost)
	_, err = f.RotateKey(t.Context(), files.RotateKeyParams{Force: true})
	is.NoErr(err)
	is.Equal(f.states(), "verify active")
	id, err = f.signedBy(f.sign())
	is.NoErr(err)
	is.Equal(id, keys[1].ID)

	without := f.open(files.Options{}) // a process that lacks the keys
	_, err = without.Sign(t.Context(), licensefile.Claims{})
	require.ErrorIs(t, err, files.ErrNoPrivateKey)
	set, err := without.KeySet(t.Context())
	is.NoErr(err)
	is.Equal(len(set.IDs()), 2)
}

func TestOptionsRefuseKeys(t *testing.T) {
	_, private, _ := ed25519.GenerateKey(rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	for want, keys := range map[string][]files.SigningKey{
		"SigningKeys[0] has no Signer":        {{}},
		"SigningKeys[0] must be an Ed25519":   {{Signer: p384}},
		"SigningKeys[0] has the ID wrong":     {{ID: "wrong", Signer: private}},
		"SigningKeys[1] is in the list twice": {{Signer: private}, {Signer: private}},
	} {
		t.Run(want, func(t *testing.T) {
			is := is.New(t)
			err := inner.Of(new(files.Service)).Validate(keys)
			is.True(err != nil)
			require.HasPrefix(t, err.Error(), want)
		})
	}
}

// TestKeysMoveWithAnArchive moves the ring to another store.
func TestKeysMoveWithAnArchive(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	text := f.sign()
	var archive bytes.Buffer
	is.NoErr(store.Export(t.Context(), f.st, &archive))
	before := f.ids()
	f.st = memory.New()
	is.NoErr(store.Import(t.Context(), f.st, &archive))
	f.Service = f.open(files.Options{})
	is.Equal(f.ids(), before)
	_, err := f.signedBy(text)
	is.NoErr(err)
}

// TestStoredKeysAreReadable reads the private half of a key as an operator
// would who leaves this module.
func TestStoredKeysAreReadable(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	f.sign()
	e, err := f.st.Entry(t.Context(), "signing_key", f.ids()[0])
	is.NoErr(err)
	var rec struct{ Clear []byte }
	is.NoErr(json.Unmarshal(e.Data, &rec))
	_, err = x509.ParsePKCS8PrivateKey(rec.Clear)
	is.NoErr(err)
}
