package settings

import (
	"bytes"
	"embed"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// A QuickStart is a program in several languages that gets an access token and
// uses it, or that needs none.
type QuickStart struct {
	Text     string // what the program does
	Snippets []snippet
	Address  string // of the mount; empty if unknown
}

// A snippet is the program in one language. The address of the mount comes
// between its parts.
type snippet struct {
	ID, Label, Hint string
	Parts           []string

	source *template.Template
}

// quickUse is the request for which a quick start uses the access token.
type quickUse struct {
	At         string // addressMark
	ID, Secret string // of the client; empty: the request needs no access token
	Method     string
	Path       string // below the mount
	JSON       string // the body; empty: none
	Introspect bool   // the body is a form with the token and the credentials
}

// addressMark marks the places of the address in the source of a snippet. Product
// IDs cannot contain it.
const addressMark = "\x00"

// quickStartOf returns example programs that work with the scopes of the client.
// They only read, unless the client can only write licenses.
func quickStartOf(v *kit.Visit, c auth.Client, secret string) *QuickStart {
	use := quickUse{At: addressMark, ID: c.ID, Secret: secret, Method: "GET"}
	q := &QuickStart{Address: v.Address()}
	switch may := func(scope string) bool { return slices.Contains(c.Scopes, scope) }; {
	case may(auth.ScopeLicenseRead):
		q.Text, use.Path = "Gets an access token and lists five licenses.", "/license?limit=5"
	case may(auth.ScopeEventRead):
		q.Text, use.Path = "Gets an access token and lists five events.", "/event?limit=5"
	case may(auth.ScopeWebhookWrite):
		q.Text, use.Path = "Gets an access token and lists the webhooks.", "/webhook"
	case may(auth.ScopeLicenseWrite):
		product := "PRODUCT_ID"
		if len(c.Products) > 0 {
			product = c.Products[0]
		}
		q.Text = "Gets an access token and creates a license: this adds a real license, because this API client cannot read."
		use.Method, use.Path = "POST", "/license"
		body, _ := web.Marshal(map[string]string{"name": "LICENSE_NAME", "product_id": product, "customer_id": "CUSTOMER_ID"}) // always encodes
		use.JSON = strings.TrimSpace(string(body))
	case may(auth.ScopeSalesRead):
		q.Text, use.Path = "Gets an access token and reads what was sold this week.", "/sales?period=week"
	case may(auth.ScopeCustomerWrite):
		q.Text, use.Path = "Gets an access token and exports what is stored about a customer.", "/customer/CUSTOMER_ID/export"
	default: // auth.ScopeTokenIntrospect
		q.Text = "Gets an access token and introspects it."
		use.Method, use.Path, use.Introspect = "POST", "/oauth/introspect", true
	}
	return q.with(use)
}

// TryLicense returns example programs that validate a license by its key.
func TryLicense(v *kit.Visit, l api.License) *QuickStart {
	q := &QuickStart{Address: v.Address(), Text: "Validates the key of this license, as your program does. It needs no API client."}
	body, _ := web.Marshal(map[string]string{"key": l.Key, "product_id": l.ProductID}) // always encodes
	return q.with(quickUse{At: addressMark, Method: "POST", Path: "/license/validate", JSON: strings.TrimSpace(string(body))})
}

// with adds the programs with a request.
func (q *QuickStart) with(use quickUse) *QuickStart {
	for _, s := range quickLanguages {
		var b bytes.Buffer
		if err := s.source.Execute(&b, use); err != nil {
			panic(err) // the templates only use the fields of quickUse
		}
		s.Parts = strings.Split(strings.TrimSpace(b.String()), addressMark)
		q.Snippets = append(q.Snippets, s)
	}
	return q
}

// quickLanguages are the languages of a quick start.
var quickLanguages = []snippet{
	{ID: "curl", Label: "curl", Hint: "Run it in a shell.", source: quickTemplate("curl")},
	{ID: "go", Label: "Go", Hint: "Save it as main.go and run “go run main.go”. It needs only the standard library; package licensing/client has typed methods.", source: quickTemplate("go")},
	{ID: "node", Label: "Node.js", Hint: "Save it as quickstart.mjs and run “node quickstart.mjs”, with Node.js 18 or later.", source: quickTemplate("node")},
	{ID: "python", Label: "Python", Hint: "Save it as quickstart.py and run “python3 quickstart.py”. It needs only the standard library.", source: quickTemplate("python")},
}

//go:embed quickstart
var quickFiles embed.FS

// quickTemplate returns the template of a language.
func quickTemplate(id string) *template.Template {
	return template.Must(template.New(id+".txt").Funcs(template.FuncMap{
		"shell": func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"goString": func(s string) string {
			if strconv.CanBackquote(s) {
				return "`" + s + "`"
			}
			return strconv.Quote(s)
		},
	}).ParseFS(quickFiles, "quickstart/"+id+".txt"))
}
