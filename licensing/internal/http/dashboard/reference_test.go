package dashboard_test

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestReference: the page has every operation and object of openapi.json, commands
// with the address of the service, and no link that has no target.
func TestReference(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{PublicURL: "https://shop.example/licensing/"})
	v := s.admin()
	a := v.get("reference")
	is.Equal(a.StatusCode, http.StatusOK)
	text := html.UnescapeString(a.body)
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	resp, err := http.Get(s.base + "/openapi.json")
	is.NoErr(err)
	defer resp.Body.Close()
	is.NoErr(json.NewDecoder(resp.Body).Decode(&doc))
	linked := func(part reply) { // links lead to other parts
		is.Equal(part.StatusCode, http.StatusOK)
		for _, m := range regexp.MustCompile(`href="(\w+)"`).FindAllStringSubmatch(part.body, -1) {
			require.Contains(t, a.body, `href="reference/`+m[1]+`"`)
		}
	}
	for path, item := range doc.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var o struct {
				OperationID, Summary string
				Responses            map[string]any
			}
			is.NoErr(json.Unmarshal(raw, &o))
			require.Contains(t, text, `href="reference/`+o.OperationID+`"`)
			part := v.get("reference/" + o.OperationID)
			section := html.UnescapeString(part.body)
			linked(part)
			require.Contains(t, section, o.Summary, "<strong>"+strings.ToUpper(method)+"</strong> "+path+"<", "'https://shop.example/licensing"+strings.Split(path, "{")[0])
			for status := range o.Responses {
				require.Contains(t, section, "<dt>"+status+"</dt>")
			}
		}
	}
	for name, schema := range doc.Components.Schemas {
		require.Contains(t, text, `href="reference/`+name+`"`)
		part := v.get("reference/" + name)
		section := part.body
		linked(part)
		for property := range schema.Properties {
			require.Contains(t, section, "<dt><code>"+property+"</code>")
		}
	}
	require.Contains(t, a.body, `reference" aria-current="page"`, `href="./../openapi.json"`)
	require.Contains(t, v.get("reference/License").body, `reference" aria-current="true"`)
	is.Equal(v.get("reference/nothing").StatusCode, http.StatusNotFound)
	require.Contains(t, newSite(t).admin().get("reference/createLicense").body, `<span data-address>https://licensing.example</span>/license`) // the script shows the address of the reader
}
