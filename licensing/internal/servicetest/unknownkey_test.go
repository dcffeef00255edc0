package servicetest

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// TestUnknownKeyDetail: every endpoint that takes a key says that the key is wrong, and not
// that a record does not exist.
func TestUnknownKeyDetail(t *testing.T) {
	c := newCaller(t, licensing.Options{Logger: discard, KeyHolderSeats: true})
	const unknown = "No license has this key; check it for typos."
	for path, rest := range map[string]string{
		"/license/activate":   `"fingerprint":"pc-1"`,
		"/license/deactivate": `"fingerprint":"pc-1"`,
		"/license/file":       `"fingerprint":"pc-1"`,
		"/license/usage":      `"usage":[{"meter":"exports","id":"a","total":1}]`,
		"/license/activation": `"limit":1`,
	} {
		t.Run(path, func(t *testing.T) {
			is := is.New(t)
			a := c.in(t).do("POST", path, `{"key":"AAAAA-AAAAA-AAAAA-AAAAA-AAAAA",`+rest+`}`, "Authorization", "")
			is.Equal(a.Code, http.StatusNotFound)
			is.Equal(a.json["code"], "not_found")
			want := unknown
			if path == "/license/deactivate" { // no hint which of the two it is
				want = "No license has this key, or it is not activated for this fingerprint; check the key for typos."
			}
			is.Equal(a.json["detail"], want)
		})
	}
	is := is.New(t)
	a := c.do("POST", "/license/deactivate", `{"key":"AAAAA-AAAAA-AAAAA-AAAAA-AAAAA","activation_id":"act_00000000000000000000000000"}`, "Authorization", "")
	is.Equal(a.json["detail"], unknown)
}
