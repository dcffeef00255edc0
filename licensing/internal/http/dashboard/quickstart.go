package dashboard

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// A quickStart is a program in several languages that gets an access token and
// uses it.
type quickStart struct {
	Text     string // what the program does
	Snippets []snippet
	Address  string // of the mount; empty if unknown
}

// A snippet is the program in one language. The address of the mount comes
// between its parts.
type snippet struct {
	ID, Label, Hint string
	Parts           []string
}

// quickUse is the request for which a quick start uses the access token.
type quickUse struct {
	At         string // addressMark
	ID, Secret string // of the client
	Method     string
	Path       string // below the mount
	JSON       string // the body; empty: none
	Introspect bool   // the body is a form with the token and the credentials
}

// addressMark marks the places of the address in the source of a snippet. Product
// IDs cannot contain it.
const addressMark = "\x00"

// quickStart returns example programs that work with the scopes of the client.
// They only read, unless the client can only write licenses.
func (v *visit) quickStart(c auth.Client, secret string) *quickStart {
	use := quickUse{At: addressMark, ID: c.ID, Secret: secret, Method: "GET"}
	q := &quickStart{Address: strings.TrimSuffix(v.h.opts.PublicURL, "/")}
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
		q.Text = "Gets an access token and creates a license: this adds a real license, because this credential cannot read."
		use.Method, use.Path = "POST", "/license"
		body, _ := web.Marshal(map[string]string{"name": "LICENSE_NAME", "product_id": product, "customer_id": "CUSTOMER_ID"}) // always encodes
		use.JSON = strings.TrimSpace(string(body))
	default: // auth.ScopeTokenIntrospect
		q.Text = "Gets an access token and introspects it."
		use.Method, use.Path, use.Introspect = "POST", "/oauth/introspect", true
	}
	for _, l := range quickLanguages {
		var b bytes.Buffer
		if err := l.source.Execute(&b, use); err != nil {
			panic(err) // the templates only use the fields of quickUse
		}
		q.Snippets = append(q.Snippets, snippet{l.id, l.label, l.hint, strings.Split(strings.TrimSpace(b.String()), addressMark)})
	}
	return q
}

// quickLanguages are the languages of a quick start.
var quickLanguages = []struct {
	id, label, hint string
	source          *template.Template
}{
	{"curl", "curl", "Run it in a shell.", quickTemplate(`
TOKEN=$(curl -sS -d grant_type=client_credentials \
  -u '{{.ID}}:{{.Secret}}' \
  '{{.At}}/oauth/token' | sed 's/.*"access_token": *"\([^"]*\)".*/\1/')
{{if .Introspect}}curl -sS -d "token=$TOKEN" \
  -u '{{.ID}}:{{.Secret}}' \
  '{{.At}}{{.Path}}'
{{- else}}curl -sS -H "Authorization: Bearer $TOKEN" {{with .JSON}}-H 'Content-Type: application/json' \
  -d {{shell .}} {{end}}'{{.At}}{{.Path}}'{{end}}
`)},
	{"go", "Go", "Save it as main.go and run “go run main.go”. It needs only the standard library; package licensing/client has typed methods.", quickTemplate(`
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
{{- if not .Introspect}}{{if .JSON}}
	"strings"{{end}}{{end}}
)

func main() {
	credentials := url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {"{{.ID}}"},
		"client_secret": {"{{.Secret}}"},
	}
	response, err := http.PostForm("{{.At}}/oauth/token", credentials)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	var token struct {
		Access string ` + "`json:\"access_token\"`" + `
	}
	if err := json.NewDecoder(response.Body).Decode(&token); err != nil {
		log.Fatal(err)
	}

{{if .Introspect}}	credentials.Set("token", token.Access)
	answer, err := http.PostForm("{{.At}}{{.Path}}", credentials)
{{else}}	request, err := http.NewRequest("{{.Method}}", "{{.At}}{{.Path}}", {{if .JSON}}strings.NewReader({{goString .JSON}}){{else}}nil{{end}})
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token.Access)
{{- if .JSON}}
	request.Header.Set("Content-Type", "application/json"){{end}}
	answer, err := http.DefaultClient.Do(request)
{{end}}	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	io.Copy(os.Stdout, answer.Body)
}
`)},
	{"node", "Node.js", "Save it as quickstart.mjs and run “node quickstart.mjs”, with Node.js 18 or later.", quickTemplate(`
const credentials = {
  grant_type: "client_credentials",
  client_id: "{{.ID}}",
  client_secret: "{{.Secret}}",
};
const response = await fetch("{{.At}}/oauth/token", {
  method: "POST",
  body: new URLSearchParams(credentials),
});
const { access_token } = await response.json();

const answer = await fetch("{{.At}}{{.Path}}", {
{{- if .Introspect}}
  method: "POST",
  body: new URLSearchParams({ ...credentials, token: access_token }),
{{- else}}{{if .JSON}}
  method: "{{.Method}}",
  body: JSON.stringify({{.JSON}}),{{end}}
  headers: { Authorization: "Bearer " + access_token{{if .JSON}}, "Content-Type": "application/json"{{end}} },
{{- end}}
});
console.log(await answer.text());
`)},
	{"python", "Python", "Save it as quickstart.py and run “python3 quickstart.py”. It needs only the standard library.", quickTemplate(`
import json
import urllib.parse
import urllib.request

credentials = {
    "grant_type": "client_credentials",
    "client_id": "{{.ID}}",
    "client_secret": "{{.Secret}}",
}
form = urllib.parse.urlencode(credentials).encode()
with urllib.request.urlopen("{{.At}}/oauth/token", form) as response:
    token = json.load(response)["access_token"]

{{if .Introspect}}form = urllib.parse.urlencode(credentials | {"token": token}).encode()
request = urllib.request.Request("{{.At}}{{.Path}}", form)
{{- else}}request = urllib.request.Request("{{.At}}{{.Path}}")
request.add_header("Authorization", "Bearer " + token)
{{- if .JSON}}
request.add_header("Content-Type", "application/json")
request.data = json.dumps({{.JSON}}).encode(){{end}}{{end}}
with urllib.request.urlopen(request) as response:
    print(response.read().decode())
`)},
}

func quickTemplate(source string) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"shell": func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"goString": func(s string) string {
			if strconv.CanBackquote(s) {
				return "`" + s + "`"
			}
			return strconv.Quote(s)
		},
	}).Parse(source))
}
