package dashboard_test

import (
	"html"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// commands returns the commands on a page, with the address of the site.
func (s *site) commands(a reply) (list []string) {
	for _, m := range regexp.MustCompile(`(?s)<code id="c\d">(.*?)</code>`).FindAllStringSubmatch(a.body, -1) {
		text := regexp.MustCompile(`<span data-address>[^<]*</span>`).ReplaceAllString(m[1], s.base)
		list = append(list, html.UnescapeString(text))
	}
	return list
}

// TestCommandsOfNewCredential runs the commands on the page of a new
// credential in a shell, in order.
func TestCommandsOfNewCredential(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	s := newSite(t)
	v := s.admin()
	s.license(license.CreateParams{Name: "Atlas"})
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
		"introspect": {[]string{auth.ScopeTokenIntrospect}, "", `"active":true`, 0},
		"write":      {[]string{auth.ScopeLicenseWrite}, "o'atlas", `"product_id":"o'atlas"`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			form := []string{"name", "Web shop " + name, "products", tt.product}
			for _, scope := range tt.scopes {
				form = append(form, "scopes", scope)
			}
			a, _, secret := create(v, form...)
			is.Equal(strings.Contains(a.body, "this adds a real license"), tt.creates > 0) // commands that create something say so
			licenses := func() int {
				page, err := s.Service().List(t.Context(), license.ListParams{})
				is.NoErr(err)
				return len(page.Data)
			}
			before := licenses()
			lines := s.commands(a)
			is.Equal(len(lines), 2)
			is.True(strings.Contains(lines[0], secret))
			out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Join(lines, "\n")).CombinedOutput()
			is.NoErr(err)
			is.True(strings.Contains(strings.ReplaceAll(string(out), `": `, `":`), tt.says))
			is.Equal(licenses()-before, tt.creates)
		})
	}
}
