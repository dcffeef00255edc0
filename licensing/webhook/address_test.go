package webhook

import (
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestURLsOfWebhooks: a URL that cannot be dialed, or whose host looks like another
// one, is refused when the webhook is created or changed.
func TestURLsOfWebhooks(t *testing.T) {
	for address, want := range map[string]string{
		"https://x.example/in?shop=1":             "",
		"https://x.example:1/":                    "",
		"https://x.example:65535/":                "",
		"https://x.example.:443/":                 "",
		"https://_hooks.x-1.example/":             "",
		"https://bücher.example/":                 "",
		"https://例え.テスト/":                         "",
		"https://xn--bcher-kva.example/":          "",
		"https://198.51.100.7/":                   "",
		"https://[2001:db8::7]:8443/":             "",
		"http://x.example/":                       "https URL",
		"ftp://x.example/":                        "https URL",
		"https:///in":                             "https URL",
		"https://x.example/#in":                   "https URL",
		"https://ada:pw@x.example/":               "https URL",
		"https://x.example:0/":                    "port",
		"https://x.example:65536/":                "port",
		"https://x.example:12345678901234567890/": "port",
		"https://x.example:00000000000000000443/": "port",
		"https://[2001:db8::7]:0/":                "port",
		"https://[2001:db8::7%25eth0]/":           "host",
		"https://exa\u202eelpm.example/":          "host",
		"https://x\u200b.example/":                "host",
		"https://x\u00ad.example/":                "host",
		"https://\ufeffx.example/":                "host",
		"https://x%E2%80%AE.example/":             "host", // the first of these, encoded
		"https://x\u3164.example/":                "host",
		"https://x\ufe0f.example/":                "host",
		"https://x\u00a0.example/":                "host",
		"https://x!.example/":                     "host",
	} {
		t.Run(address, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			wrong := func(err error) string {
				if err == nil {
					return ""
				}
				invalid, ok := errors.AsType[*api.InvalidError](err)
				is.True(ok)
				is.Equal(len(invalid.Fields), 1)
				is.Equal(invalid.Fields[0].Field, "url")
				return invalid.Fields[0].Detail
			}
			check := func(got string) {
				t.Helper()
				is.True((got == "") == (want == ""))
				require.Contains(t, got, want)
			}
			_, _, err := f.Create(t.Context(), api.CreateWebhookParams{URL: address})
			check(wrong(err))
			w, _ := f.webhook(t)
			_, err = f.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, URL: &address})
			check(wrong(err))
		})
	}
}
