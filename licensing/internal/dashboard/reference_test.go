package dashboard_test

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestReferenceMatchesOpenAPI(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{PublicURL: "https://shop.example/licensing"})
	v := s.admin()
	page := v.get("reference")
	is.Equal(page.StatusCode, http.StatusOK)

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

	count := 0
	for path, item := range doc.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			count++
			var o struct {
				OperationID string
				Summary     string
				Security    []map[string][]string
				Parameters  []struct{ Name string }
				Responses   map[string]any
			}
			is.NoErr(json.Unmarshal(raw, &o))
			_, section, found := strings.Cut(page.body, `<section class="card" id="`+o.OperationID+`"`)
			section, _, _ = strings.Cut(section, "</section>")
			section = html.UnescapeString(section)
			if !found {
				t.Errorf("%s %s is not in the reference", method, path)
				continue
			}
			is.True(strings.Contains(section, "<strong>"+strings.ToUpper(method)+"</strong> "+path+"<"))
			is.True(strings.Contains(section, o.Summary))
			is.True(strings.Contains(section, "'https://shop.example/licensing"+strings.Split(path, "{")[0]))
			if len(o.Security) > 0 && o.Security[0]["oauth2"] != nil {
				is.True(strings.Contains(section, `<span class="tag">`+o.Security[0]["oauth2"][0]))
			}
			for _, p := range o.Parameters {
				is.True(p.Name == "" || strings.Contains(section, "<dt><code>"+p.Name+"</code>"))
			}
			for status := range o.Responses {
				is.True(strings.Contains(section, "<dt>"+status+"</dt>"))
			}
		}
	}
	is.Equal(len(regexp.MustCompile(`<code id="\w+-curl">`).FindAllString(page.body, -1)), count)
	for name, schema := range doc.Components.Schemas {
		_, section, found := strings.Cut(page.body, `<section class="card" id="`+name+`"`)
		section, _, _ = strings.Cut(section, "</section>")
		is.True(found)
		for property := range schema.Properties {
			is.True(strings.Contains(section, "<dt><code>"+property+"</code>"))
		}
	}
}
