package client_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/client"
)

func TestRandomID(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	ids := make([]string, 32)
	var work sync.WaitGroup
	for i := range ids {
		work.Go(func() {
			id, err := client.RandomID(dir)
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	work.Wait()
	is.Equal(len(ids[0]), 26)
	for _, id := range ids {
		is.Equal(id, ids[0])
	}
	files, err := os.ReadDir(dir)
	is.NoErr(err)
	is.Equal(len(files), 1) // no temporary file stays
	other, err := client.RandomID(t.TempDir())
	is.NoErr(err)
	is.True(other != ids[0])

	path := filepath.Join(dir, "installation-id")
	is.NoErr(os.WriteFile(path, nil, 0o600))
	_, err = client.RandomID(dir)
	is.True(err != nil) // not replaced
	text, err := os.ReadFile(path)
	is.NoErr(err)
	is.Equal(len(text), 0)
	_, err = client.RandomID(filepath.Join(dir, "missing"))
	is.True(err != nil)
}
