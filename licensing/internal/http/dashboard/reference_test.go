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

// A documentedOperation has what the OpenAPI document says about an operation.
type documentedOperation struct {
	OperationID string
	Summary     string
	Security    []map[string][]string
	Parameters  []struct{ Name string }
	Responses   map[string]struct {
		Content map[string]struct{ Example json.RawMessage }
	}
}

// operations returns the operations of openapi.json by path and method, and the
// schemas.
func (s *site) operations() (paths map[string]map[string]documentedOperation, schemas map[string]struct{ Properties map[string]any }) {
	s.t.Helper()
	is := is.New(s.t)
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
	paths = map[string]map[string]documentedOperation{}
	for path, item := range doc.Paths {
		paths[path] = map[string]documentedOperation{}
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var o documentedOperation
			is.NoErr(json.Unmarshal(raw, &o))
			paths[path][strings.ToUpper(method)] = o
		}
	}
	return paths, doc.Components.Schemas
}

func TestReferenceMatchesOpenAPI(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{PublicURL: "https://shop.example/licensing"})
	v := s.admin()
	index := v.get("reference")
	is.Equal(index.StatusCode, http.StatusOK)
	paths, schemas := s.operations()
	count := 0
	for path, item := range paths {
		for method, o := range item {
			count++
			require.Contains(t, index.body, `href="./reference/`+o.OperationID+`"`)
			require.Contains(t, index.body, "<strong>"+method+"</strong> "+path+"<")
			a := v.get("reference/" + o.OperationID)
			is.Equal(a.StatusCode, http.StatusOK)
			text := html.UnescapeString(a.body)
			require.Contains(t, text, "<h1>"+o.Summary+"</h1>")
			require.Contains(t, text, "<strong>"+method+"</strong> "+path+"<")
			require.Contains(t, text, "'https://shop.example/licensing"+strings.Split(path, "{")[0])
			if len(o.Security) > 0 && o.Security[0]["oauth2"] != nil {
				require.Contains(t, text, `<span class="tag">`+o.Security[0]["oauth2"][0])
			}
			for _, p := range o.Parameters {
				is.True(p.Name == "" || strings.Contains(text, "<dt><code>"+p.Name+"</code>"))
			}
			for status, r := range o.Responses {
				require.Contains(t, text, "<dt>"+status+"</dt>")
				if want := r.Content["application/json"].Example; want != nil && status[0] == '2' {
					is.Equal(compactJSON(t, exampleOn(a)), compactJSON(t, string(want)))
				}
			}
			for _, link := range regexp.MustCompile(`<a (?:class="button" rel="\w+" )?href="(\w+)"`).FindAllStringSubmatch(a.body, -1) {
				_, isObject := schemas[link[1]]
				is.True(isObject || index.says(`href="./reference/`+link[1]+`"`)) // links lead to other pages of the reference
			}
		}
	}
	is.Equal(len(regexp.MustCompile(`rowheader"><a href="\./reference/`).FindAllString(index.body, -1)), count)
	for name, schema := range schemas {
		require.Contains(t, index.body, `href="./reference/`+name+`"`)
		a := v.get("reference/" + name)
		is.Equal(a.StatusCode, http.StatusOK)
		for property := range schema.Properties {
			require.Contains(t, a.body, "<dt><code>"+property+"</code>")
		}
	}
	require.Contains(t, index.body, `reference" aria-current="page"`)
	require.Contains(t, v.get("reference/License").body, `reference" aria-current="true"`) // in this section, not on this page
	is.Equal(v.get("reference/nothing").StatusCode, http.StatusNotFound)

	created := exampleOn(v.get("reference/createLicense")) // an example that openapi.json refers to
	require.HasPrefix(t, created, "{\n  \"object\": \"license\",\n")
	require.Contains(t, v.get("reference/createLicense").body, "Response 201")
	require.HasPrefix(t, exampleOn(v.get("reference/exportLicenses")), `{"id":"lic_`) // a line, not a list
	for _, item := range paths {
		for _, o := range item {
			if o.OperationID != "getDescription" && o.OperationID != "getFileRevocations" { // whose responses are the document itself and a signed text
				is.True(exampleOn(v.get("reference/"+o.OperationID)) != "")
			}
		}
	}
}

// exampleOn returns the response example on the page of an operation.
func exampleOn(a reply) string {
	m := regexp.MustCompile(`(?s)<code id="example">(.*?)</code>`).FindStringSubmatch(a.body)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1])
}

func compactJSON(t *testing.T, text string) string {
	t.Helper()
	var x any
	is.New(t).NoErr(json.Unmarshal([]byte(text), &x))
	b, err := json.Marshal(x)
	is.New(t).NoErr(err)
	return string(b)
}

func TestReferenceFilter(t *testing.T) {
	is := is.New(t)
	v := newSite(t).admin()
	found := func(query string) string {
		var list []string
		for _, m := range regexp.MustCompile(`href="\./reference/(\w+)"`).FindAllStringSubmatch(v.get("reference?q="+query).body, -1) {
			list = append(list, m[1])
		}
		return strings.Join(list, " ")
	}
	is.Equal(found("rekey"), "rekeyLicense Rekey")                    // an operation and an object
	is.Equal(found("DELETE+webhook"), "deleteWebhook WebhookDeleted") // all words, in any case
	require.Contains(t, found("max_activations"), "createLicense")
	require.Contains(t, found("event:read"), "listEvents")
	require.NotContains(t, found("event:read"), "createLicense")
	is.Equal(found("submarine"), "")
	require.Contains(t, v.get("reference?q=submarine").body, "No matches")
}
