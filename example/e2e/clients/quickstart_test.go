package clients

import (
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/node"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestQuickStart creates credentials in the dashboard and runs the programs that
// it shows, as they are, in every language.
func TestQuickStart(t *testing.T) {
	is := is.New(t)
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String() + "/licensing"
	h := licensing.NewHandler(memory.New(), licensing.Options{PublicURL: base, Logger: slog.New(slog.DiscardHandler)})
	server.Config.Handler = http.StripPrefix("/licensing", h)
	server.Start()
	t.Cleanup(server.Close)
	_, err := h.Operators().Create(t.Context(), operator.CreateParams{Email: "ada@example.com", Password: "the ferry leaves before breakfast", Role: operator.RoleAdmin})
	is.NoErr(err)
	_, err = h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "bakery"})
	is.NoErr(err)
	jar, err := cookiejar.New(nil)
	is.NoErr(err)
	browser := &http.Client{Jar: jar}
	post := func(page string, form url.Values) string {
		resp, err := browser.PostForm(base+"/dashboard/"+page, form)
		is.NoErr(err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		is.NoErr(err)
		is.Equal(resp.StatusCode, http.StatusOK)
		return string(body)
	}
	post("sign-in", url.Values{"email": {"ada@example.com"}, "password": {"the ferry leaves before breakfast"}})

	commands := map[string][]string{
		"curl": {"sh"}, "go": {"go", "run"}, "node": {"node"}, "python": {"python3"},
	}
	files := map[string]string{"curl": "quickstart.sh", "go": "main.go", "node": "quickstart.mjs", "python": "quickstart.py"}
	for scope, says := range map[string]string{
		auth.ScopeLicenseRead:     `"name":"Atlas"`,
		auth.ScopeLicenseWrite:    "\"product_id\":\"o'`<atlas>\"",
		auth.ScopeTokenIntrospect: `"active":true`,
	} {
		form := url.Values{"name": {"Shop"}, "scopes": {scope}}
		if scope == auth.ScopeLicenseWrite {
			form.Set("products", "o'`<atlas>")
		}
		page := post("settings/credentials/new", form)
		programs := regexp.MustCompile(`(?s)<code id="quick-(\w+)">(.*?)</code>`).FindAllStringSubmatch(page, -1)
		is.Equal(len(programs), len(commands))
		for _, m := range programs {
			t.Run(scope+" in "+m[1], func(t *testing.T) {
				is := is.New(t)
				dir, command := t.TempDir(), commands[m[1]]
				is.NoErr(os.WriteFile(filepath.Join(dir, files[m[1]]), []byte(html.UnescapeString(m[2])), 0o600))
				out := node.Run(t, node.Command{Dir: dir}, command[0], append(command[1:], files[m[1]])...)
				if text := strings.ReplaceAll(string(out), `": `, `":`); !strings.Contains(text, says) {
					t.Errorf("the program printed %s", text)
				}
			})
		}
	}
	page, err := h.Service().List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(page.Data), 1+len(commands)) // only the programs for license:write create licenses
}
