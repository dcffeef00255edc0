package licensing_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/endpoints"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestEveryEndpointRefusesWhatItDoesNotKnow: unknown members and parameters,
// preconditions where nothing is conditional, and bodies where none is read.
func TestEveryEndpointRefusesWhatItDoesNotKnow(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{PublicURL: "https://example.com"})
	lic, err := c.Handler.Service().Create(t.Context(), license.CreateParams{Name: "Atlas", ProductID: "atlas", CustomerID: "cus_1"})
	is.NoErr(err)
	hook, _, err := c.Handler.Webhooks().Create(t.Context(), webhook.CreateParams{URL: "https://shop.example/hooks"})
	is.NoErr(err)
	known := strings.NewReplacer("{licenseID:lic_}", lic.ID, "{licenseID}", lic.ID, "{webhookID}", hook.ID, "{activationID}", "act_x", "{deliveryID}", "dlv_x")
	before, err := c.Handler.Service().Events(t.Context(), license.EventsParams{})
	is.NoErr(err)
	for _, route := range endpoints.Routes(endpoints.Config{Auth: auth.New(memory.New(), auth.Options{}), Metadata: http.NotFoundHandler(), MaxImport: 1 << 20}) {
		if route.OAuth || route.Probe { // RFC 6749 requires the first to ignore them; see TestProbes
			continue
		}
		path := known.Replace(route.Path)
		t.Run(route.Method+" "+path, func(t *testing.T) {
			is := is.New(t)
			a := c.do(route.Method, path+"?no_such_parameter=1", "")
			is.Equal(a.Code, http.StatusBadRequest) // an unknown parameter
			is.True(strings.Contains(a.Body.String(), `"parameter":"no_such_parameter"`) || route.Do == nil)
			if route.Rows > 0 {
				return // its lines are read one by one
			}
			a = c.do(route.Method, path, `{"no_such_member":1}`, "Content-Type", "application/json")
			is.True(a.Code == http.StatusUnprocessableEntity || a.Code == http.StatusBadRequest) // an unknown member, or a body where none is read
			is.True(strings.Contains(a.Body.String(), `"pointer":"#/no_such_member"`) || strings.Contains(a.Body.String(), `"code":"unexpected_body"`))
			if route.Method != http.MethodGet {
				a = c.do(route.Method, path, "", "If-None-Match", "*", "Content-Type", "application/json")
				is.Equal(a.Code, http.StatusBadRequest) // a precondition for reading
				require.Contains(t, a.Body.String(), `"header":"If-None-Match"`)
			}
		})
	}
	after, err := c.Handler.Service().Events(t.Context(), license.EventsParams{})
	is.NoErr(err)
	is.Equal(len(after.Data), len(before.Data)) // nothing has changed
}
