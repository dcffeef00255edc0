package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"log/slog"
	"net/http"
)

// The pages are plain. A script fills in the token of a link; without JavaScript, the
// customer types it in. The action of the form is a URL without the token.
var pages = template.Must(template.New("").Parse(`{{define "head"}}<!doctype html><html lang="{{.Lang}}"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><meta name="robots" content="noindex"><title>{{.Title}}</title><style>` + style + `</style><main><h1>{{.Title}}</h1>{{end}}
{{- define "ask"}}{{template "head" .}}<form method="post" action="sign-in"><p><label for="email">{{.Email}}</label> <input id="email" name="email" type="email" required autocomplete="email"> <button>{{.Ask}}</button></p></form></main></html>{{end}}
{{- define "link"}}{{template "head" .}}<form method="post" action="link"><p><label for="token">{{.Token}}</label> <input id="token" name="token" required autocomplete="off"></p><p><button>{{.SignIn}}</button></p></form></main><script>` + script + `</script></html>{{end}}
{{- define "sent"}}{{template "head" .}}<p role="status">{{.Sent}}</p></main></html>{{end}}
{{- define "many"}}{{template "head" .}}<p role="alert">{{.TooMany}}</p></main></html>{{end}}
{{- define "gone"}}{{template "head" .}}<p role="alert">{{.Gone}}</p><p><a href="sign-in">{{.Again}}</a></p></main></html>{{end}}
{{- define "failed"}}{{template "head" .}}<p role="alert">{{.Failed}}</p></main></html>{{end}}`))

const (
	// The look is that of the customer pages.
	style = `body { margin: 0; color: light-dark(#191c22, #e9ebef); background: light-dark(#fafbfc, #0e1013); font: .9375rem/1.5 Inter, system-ui, sans-serif }
main { max-width: 26rem; margin: 0 auto; padding: clamp(1.5rem, 12vh, 7rem) 1rem; overflow-wrap: anywhere }
h1 { margin: 0 0 .75rem; font-size: 1.375rem; line-height: 1.3; font-weight: 620 }
form { padding: 1rem; border: 1px solid light-dark(#e5e8ee, #282d36); border-radius: .625rem; background: light-dark(#fff, #16191e); box-shadow: 0 1px 2px rgb(0 0 0 / .05) }
p { margin: 0 } p:not([hidden]) + p { margin-top: .75rem } p[hidden] { display: none }
label { font-weight: 500 }
input { display: block; width: 100%; box-sizing: border-box; min-height: 2.25rem; margin: .25rem 0 .75rem; padding: .3125rem .625rem; border: 1px solid light-dark(#79818f, #7b8492); border-radius: .4375rem; background: none; color: inherit; font: inherit }
button { min-height: 2.25rem; padding: .3125rem .875rem; border: 0; border-radius: .4375rem; background: light-dark(#2b4acb, #aab9ff); color: light-dark(#fff, #101216); font: inherit; font-weight: 500; cursor: pointer }
a { color: light-dark(#2b4acb, #aab9ff) }
:focus-visible { outline: 2px solid light-dark(#2b4acb, #aab9ff); outline-offset: 2px }`
	script = `const form = document.forms[0]; form.token.value = location.hash.slice(1); history.replaceState(null, "", location.pathname); if (form.token.value) form.token.parentElement.hidden = true`
)

var policy = "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; style-src " + digest(style) + "; script-src " + digest(script)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// show writes a page.
func (s *SignIn) show(w http.ResponseWriter, status int, page string) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, page, s.texts); err != nil {
		http.Error(w, s.texts.Failed, http.StatusInternalServerError)
		return
	}
	for name, value := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy, "Cache-Control": "no-store",
		"Referrer-Policy": "same-origin", // with no-referrer, browsers send "Origin: null" with forms
	} {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// fail logs an error and shows a page that says nothing of it.
func (s *SignIn) fail(w http.ResponseWriter, r *http.Request, text string, err error) {
	s.log().ErrorContext(r.Context(), text, slog.Any("error", err))
	w.Header().Set("Retry-After", "60")
	s.show(w, http.StatusServiceUnavailable, "failed")
}
