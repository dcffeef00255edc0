package licensing_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

func TestFileKeysArePublished(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	keys := func(header ...string) (answer, []string) {
		t.Helper()
		a := c.do("GET", "/file/keys", "", append([]string{"Authorization", ""}, header...)...)
		if a.Code != http.StatusOK {
			return a, nil
		}
		set, err := licensefile.ParseKeys(a.Body.Bytes())
		is.NoErr(err)
		return a, set.IDs()
	}
	first, ids := keys()
	is.Equal(len(ids), 2)
	is.Equal(first.Header().Get("Content-Type"), "application/json")
	is.Equal(first.Header().Get("Cache-Control"), "public, max-age=300")
	is.True(!strings.Contains(first.Body.String(), `"d"`))
	etag := first.Header().Get("ETag")
	for _, tags := range []string{etag, "W/" + etag, `"1.active", ` + etag, "*"} {
		a, _ := keys("If-None-Match", tags)
		is.Equal(a.Code, http.StatusNotModified)
		is.Equal(a.Body.Len(), 0)
		is.Equal(a.Header().Get("ETag"), etag)
	}
	head := c.do("HEAD", "/file/keys", "")
	is.Equal(head.Code, http.StatusOK)
	is.Equal(head.Header().Get("ETag"), etag)
	is.Equal(head.Body.Len(), 0)

	_, err := c.Handler.Files().RotateKey(t.Context(), files.RotateKeyParams{Force: true})
	is.NoErr(err)
	_, rotated := keys("If-None-Match", etag)
	is.Equal(rotated[:2], ids)
	is.Equal(len(rotated), 3)
	_, err = c.Handler.Files().CondemnKey(t.Context(), files.CondemnKeyParams{ID: ids[0]})
	is.NoErr(err)
	_, condemned := keys()
	is.Equal(condemned, rotated[1:])

	a := c.do("GET", "/event?type=signing_key.*", "")
	is.Equal(a.Code, http.StatusOK)
	var types []string
	for _, e := range a.json["data"].([]any) {
		types = append(types, e.(map[string]any)["type"].(string))
	}
	is.Equal(types, []string{files.EventKeyCreated, files.EventKeyCreated, files.EventKeyRotated, files.EventKeyCreated, files.EventKeyCompromised})
	for _, eventType := range append(types, files.EventKeyRetired) {
		is.True(slices.Contains(license.EventTypes(), eventType))
	}
}

func TestSigningKeysOfTheHost(t *testing.T) {
	is := is.New(t)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	is.NoErr(err)
	c := newCaller(t, licensing.Options{SigningKeys: []files.SigningKey{{Signer: private}}})
	want, err := licensefile.KeyID(private.Public())
	is.NoErr(err)
	set, err := licensefile.ParseKeys(c.do("GET", "/file/keys", "").Body.Bytes())
	is.NoErr(err)
	is.Equal(set.IDs(), []string{want})

	err = licensing.Options{SigningKeys: []files.SigningKey{{ID: "wrong", Signer: private}}}.Validate()
	is.True(err != nil)
	is.Equal(err.Error(), "licensing: Options.SigningKeys[0] has the ID wrong, but the key of its Signer has the ID "+want)
}
