package licensefile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
)

// TestGoldenFiles verifies what the first release signed. Never replace these
// files: programs that have such files must be able to read them forever.
func TestGoldenFiles(t *testing.T) {
	is := is.New(t)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", "golden1", name))
		is.NoErr(err)
		return string(data)
	}
	keys, err := ParseKeys([]byte(read("keys.json")))
	is.NoErr(err)
	is.Equal(len(keys.IDs()), 2)
	full := fullClaims()
	full.Name = "" // files have it since the second release
	for name, want := range map[string]File{
		"eddsa.jws": {full, keys.IDs()[0]},
		"es256.jws": {full, keys.IDs()[1]},
		"least.jws": {leastClaims(), keys.IDs()[0]},
	} {
		file, err := keys.Verify(read(name))
		is.NoErr(err)
		is.Equal(file, want)
		is.NoErr(file.Check(Expect{ProductID: "atlas", Fingerprint: "machine", Now: issued}))
	}

	list, err := keys.VerifyRevocations(read("revocations.jws"))
	is.NoErr(err)
	is.NoErr(list.Check("atlas", issued))
	is.Equal(list.CondemnedKeys, keys.IDs()[:1])
	file, err := keys.Verify(read("es256.jws"))
	is.NoErr(err)
	want := Expect{ProductID: "atlas", Fingerprint: "machine", Now: issued, Revocations: &list}
	require.ErrorIs(t, file.Check(want), ErrOldGeneration)
	_, err = keys.Condemn(list.CondemnedKeys...).Verify(read("eddsa.jws"))
	require.ErrorIs(t, err, ErrCondemnedKey)
}
