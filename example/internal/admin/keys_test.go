package admin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// useKey puts a key into a file that the environment names.
func useKey(t *testing.T, variable, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(variable, file)
}

func TestRotateKeyAndVerify(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	db, keysFile, file := filepath.Join(dir, "licenses.db"), filepath.Join(dir, "keys.json"), filepath.Join(dir, "atlas.license")
	master := bytes.Repeat([]byte("m"), 32)

	// The service has had its keys for 100 days and issues a file.
	st, err := sqlite.Open(db)
	is.NoErr(err)
	defer st.Close()
	created := time.Now().AddDate(0, 0, -100)
	service := licensing.NewHandler(st, licensing.Options{MasterKey: master, Now: func() time.Time { return created }}).Files()
	set, err := service.KeySet(t.Context())
	is.NoErr(err)
	jwks, err := json.Marshal(set)
	is.NoErr(err)
	is.NoErr(os.WriteFile(keysFile, jwks, 0o600))
	claims := licensefile.Claims{
		ID: "file", LicenseID: "lic_1", ProductID: "atlas", Generation: 1,
		IssuedAt: created, NotBefore: created, ExpiresAt: time.Now().Add(time.Hour),
	}
	text, err := service.Sign(t.Context(), claims)
	is.NoErr(err)
	is.NoErr(os.WriteFile(file, []byte(text), 0o600))

	out, err := run(t, "verify", db, file, keysFile)
	is.NoErr(err)
	require.Contains(t, out, "the file is valid", "lic_1", "any machine")
	claims.ExpiresAt = created.Add(time.Hour)
	old, err := service.Sign(t.Context(), claims)
	is.NoErr(err)
	is.NoErr(os.WriteFile(file, []byte(old), 0o600))
	out, err = run(t, "verify", db, file, keysFile)
	is.NoErr(err)
	require.Contains(t, out, "has expired")
	is.NoErr(os.WriteFile(file, []byte(text[:len(text)-4]+"AAAA"), 0o600))
	_, err = run(t, "verify", db, file, keysFile)
	is.True(errors.Is(err, licensefile.ErrSignature) || errors.Is(err, licensefile.ErrEncoding))

	_, err = run(t, "rotate-key", db)
	is.True(err != nil)
	require.Contains(t, err.Error(), "--master-key-file")
	useKey(t, "LICENSEKIT_MASTER_KEY_FILE", "too short")
	_, err = run(t, "rotate-key", db)
	is.True(err != nil)
	require.Contains(t, err.Error(), "32 bytes")
	useKey(t, "LICENSEKIT_MASTER_KEY_FILE", base64.StdEncoding.EncodeToString(master))
	out, err = run(t, "rotate-key", db)
	is.NoErr(err)
	require.Contains(t, out, set.IDs()[1]) // the next key is active now
	_, err = run(t, "rotate-key", db)
	require.ErrorIs(t, err, files.ErrKeyTooNew) // the new next key was made just now
}

// TestReencrypt replaces the master key beside an open service, which then needs
// only the new one.
func TestReencrypt(t *testing.T) {
	is := is.New(t)
	db := filepath.Join(t.TempDir(), "licenses.db")
	first, second := bytes.Repeat([]byte("1"), 32), bytes.Repeat([]byte("2"), 32)
	st, err := sqlite.Open(db)
	is.NoErr(err)
	defer st.Close()
	_, err = licensing.NewHandler(st, licensing.Options{MasterKey: first}).Files().KeySet(t.Context())
	is.NoErr(err)

	_, err = run(t, "reencrypt", db)
	is.True(err != nil)
	require.Contains(t, err.Error(), "--master-key-file")
	useKey(t, "LICENSEKIT_PREVIOUS_MASTER_KEYS_FILE", base64.StdEncoding.EncodeToString(first))
	_, err = run(t, "reencrypt", db)
	is.True(err != nil)
	require.Contains(t, err.Error(), "needs MasterKey")
	useKey(t, "LICENSEKIT_PREVIOUS_MASTER_KEYS_FILE", "")
	useKey(t, "LICENSEKIT_MASTER_KEY_FILE", base64.StdEncoding.EncodeToString(second))
	_, err = run(t, "reencrypt", db)
	is.True(err != nil)
	require.Contains(t, err.Error(), "--previous-master-keys-file")
	useKey(t, "LICENSEKIT_PREVIOUS_MASTER_KEYS_FILE", "too short")
	_, err = run(t, "reencrypt", db)
	is.True(err != nil)
	require.NotContains(t, err.Error(), "short")
	useKey(t, "LICENSEKIT_PREVIOUS_MASTER_KEYS_FILE", base64.StdEncoding.EncodeToString(first))
	for _, keys := range []string{"2", "0"} {
		out, err := run(t, "reencrypt", db)
		is.NoErr(err)
		is.Equal(out, "webhook secrets  0\nsigning keys     "+keys+"\nsecond factors   0\nunreadable       0\n")
	}
	n, err := licensing.NewHandler(st, licensing.Options{MasterKey: second}).Files().SecretCounts(t.Context())
	is.NoErr(err)
	is.Equal(n, files.SecretCounts{Sealed: 2})
}

// TestCreateKeys creates the first keys once, and prints what programs embed.
func TestCreateKeys(t *testing.T) {
	is := is.New(t)
	db := filepath.Join(t.TempDir(), "licenses.db")
	newDatabase(t, db, 0)
	master := bytes.Repeat([]byte("m"), 32)
	useKey(t, "LICENSEKIT_MASTER_KEY_FILE", base64.StdEncoding.EncodeToString(master))
	out, err := run(t, "create-keys", db)
	is.NoErr(err)
	set, err := licensefile.ParseKeys([]byte(out))
	is.NoErr(err)
	is.Equal(len(set.IDs()), 2)
	again, err := run(t, "create-keys", db)
	is.NoErr(err)
	is.Equal(again, out)

	st, err := sqlite.Open(db)
	is.NoErr(err)
	defer st.Close()
	n, err := licensing.NewHandler(st, licensing.Options{MasterKey: master}).Files().SecretCounts(t.Context())
	is.NoErr(err)
	is.Equal(n, files.SecretCounts{Sealed: 2})
	useKey(t, "LICENSEKIT_MASTER_KEY_FILE", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("o"), 32)))
	_, err = run(t, "create-keys", db)
	is.True(err != nil)
}
