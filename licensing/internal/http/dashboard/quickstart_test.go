package dashboard_test

import (
	"go/parser"
	"go/token"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// quickStarts returns the programs of the quick start on a page by language, with
// the address of the site.
func (s *site) quickStarts(a reply) map[string]string {
	list := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)<code id="quick-(\w+)">(.*?)</code>`).FindAllStringSubmatch(a.body, -1) {
		text := regexp.MustCompile(`<span data-address>[^<]*</span>`).ReplaceAllString(m[2], s.base)
		list[m[1]] = html.UnescapeString(text)
	}
	return list
}

// TestQuickStart runs the curl program on the page of a new credential in a
// shell, for each scope. The tests in example/e2e run those in other languages.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	s := newSite(t)
	v := s.admin()
	s.license(api.CreateLicenseParams{Name: "Atlas"})
	for name, tt := range map[string]struct {
		scopes  []string
		product string
		says    string
		creates int
	}{
		"read":       {[]string{auth.ScopeLicenseRead}, "", `"object":"list"`, 0},
		"both":       {[]string{auth.ScopeLicenseRead, auth.ScopeLicenseWrite}, "", `"name":"Atlas"`, 0},
		"events":     {[]string{auth.ScopeEventRead}, "", `"type":"license.created"`, 0},
		"webhooks":   {[]string{auth.ScopeWebhookWrite}, "", `"object":"list"`, 0},
		"customers":  {[]string{auth.ScopeCustomerWrite}, "", `"object":"customer_export"`, 0},
		"sales":      {[]string{auth.ScopeSalesRead}, "", `"object":"sales"`, 0},
		"introspect": {[]string{auth.ScopeTokenIntrospect}, "", `"active":true`, 0},
		"write":      {[]string{auth.ScopeLicenseWrite}, "o'`<atlas>", "\"product_id\":\"o'`<atlas>\"", 1},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			form := []string{"name", "Web shop " + name, "products", tt.product}
			for _, scope := range tt.scopes {
				form = append(form, "scopes", scope)
			}
			a, id, secret := create(v, form...)
			is.Equal(strings.Contains(a.body, "this adds a real license"), tt.creates > 0) // a program that creates something says so
			licenses := func() int {
				page, err := s.Service().List(t.Context(), api.ListLicensesParams{})
				is.NoErr(err)
				return len(page.Data)
			}
			before := licenses()
			programs := s.quickStarts(a)
			is.Equal(len(programs), 4)
			for _, source := range programs {
				require.Contains(t, source, secret)
			}
			_, err := parser.ParseFile(token.NewFileSet(), "main.go", programs["go"], 0)
			is.NoErr(err)
			out, err := exec.CommandContext(t.Context(), "sh", "-c", programs["curl"]).CombinedOutput()
			is.NoErr(err)
			require.Contains(t, strings.ReplaceAll(string(out), `": `, `":`), tt.says)
			is.Equal(licenses()-before, tt.creates)

			later := s.quickStarts(v.get("settings/credentials/" + id)) // the secret is unknown then
			is.Equal(strings.ReplaceAll(later["curl"], "YOUR_SECRET", secret), programs["curl"])
		})
	}
}

func TestCredentialList(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	_, id, secret := create(v, "name", "Web shop", "scopes", auth.ScopeLicenseRead, "scopes", auth.ScopeLicenseWrite, "scopes", auth.ScopeEventRead, "products", "atlas\ncompass")
	_, other, _ := create(v, "name", "Reports", "scopes", auth.ScopeLicenseWrite)
	a := v.get("settings/credentials")
	require.Contains(t, a.body, `id="id-`+id+`">`+id+`<`, `data-copy="id-`+id+`"`, `aria-label="Copy client ID of Web shop"`)
	require.Contains(t, a.body, `Read and change licenses, read events <span class="sub">only atlas, compass</span>`)
	require.Contains(t, a.body, `Change licenses <span class="sub">all products</span>`)
	is.Equal(strings.Count(a.body, `<span class="muted">Never</span>`), 2)
	s.token(id, secret)
	a = v.get("settings/credentials")
	is.Equal(strings.Count(a.body, `<span class="muted">Never</span>`), 1)
	is.True(a.says("just now") || a.says("in a moment"))
	require.Contains(t, v.get("settings/credentials/"+other).body, "Change licenses <span class=\"muted\">· all products</span>")
}

func TestDeleteCredential(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	_, id, secret := create(v, "name", "Web shop", "scopes", auth.ScopeLicenseRead)
	page := "settings/credentials/" + id
	require.Contains(t, v.get(page).body, `href="../../settings/credentials/`+id+`/delete"`)
	require.Contains(t, v.get(page+"/delete").body, "This cannot be undone.")
	a := v.post(page + "/delete")
	is.Equal(a.to(), "../../../settings/credentials")
	is.Equal(v.follow(a).notice(), "The API client has been deleted.")
	is.True(s.token(id, secret) != 200)
	require.NotContains(t, v.get("settings/credentials").body, id)

	gone := v.get(page)
	is.Equal(gone.StatusCode, 404)
	require.Contains(t, gone.body, "This API client was deleted on 1 Mar 2026, 12:00 by ada@example.com.")
	audit := v.get("audit?subject=" + id)
	require.Contains(t, audit.body, "API client deleted", "Web shop")
	is.Equal(v.post(page+"/delete").StatusCode, 404)
	require.Contains(t, v.get("settings/credentials/cid_nowhere").body, "There is no API client with this ID.")
}

// TestTryTheFirstLicense: until a license was validated, the page of each shows programs that
// do, without credentials, to those who may see its key. They run.
func TestTryTheFirstLicense(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.operator("sue@example.com", operator.RoleSupport)
	l := s.license(api.CreateLicenseParams{Name: "Atlas", ProductID: "o'`<atlas>"})
	page := "licenses/" + l.ID
	require.NotContains(t, s.signedIn("sue@example.com").get(page).body, "Try it")
	require.Contains(t, v.get("").body, "Check a license in the program", "The page of the license shows how.")
	a := v.get(page)
	require.Contains(t, a.body, ">Try it</h2>")
	programs := s.quickStarts(a)
	is.Equal(len(programs), 4)
	_, err := parser.ParseFile(token.NewFileSet(), "main.go", programs["go"], parser.AllErrors)
	is.NoErr(err)
	for _, text := range programs {
		require.Contains(t, text, s.base+"/license/validate")
		require.NotContains(t, text, "oken", "uthorization")
	}
	dir := t.TempDir()
	for id, command := range map[string][]string{"curl": {"sh", "-c", programs["curl"]}, "node": {"node", "--input-type=module", "-e", programs["node"]}, "python": {"python3", "-c", programs["python"]}, "go": {"go", "run", filepath.Join(dir, "main.go")}} {
		if _, err := exec.LookPath(strings.Replace(command[0], "sh", id, 1)); err != nil {
			continue
		}
		is.NoErr(os.WriteFile(filepath.Join(dir, "main.go"), []byte(programs["go"]), 0o600))
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		is.NoErr(err)
		require.Contains(t, string(out), `"valid":true`)
	}
	require.NotContains(t, v.get(page).body, ">Try it</h2>")
}
