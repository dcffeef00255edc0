package kit

import (
	"net/http"
	"net/url"
)

// RenderSignedOut responds to a form of an operator whose session has ended. The page
// keeps what was entered, so that it can be submitted again after a sign-in in another
// tab. An upload is not read without a session, so its page keeps nothing. Forms of the
// sign-in section have passwords and codes, which no page repeats.
func (v *Visit) RenderSignedOut(route *Route) error {
	if route.Upload {
		v.W.Header().Set("Connection", "close") // the rest of the file is not read
	}
	return v.Render(http.StatusForbidden, "signedout", Page{Title: "Your session has ended", Standalone: true, Body: struct {
		Action string
		Fields url.Values
		Upload bool
	}{v.Root + v.Here(), v.R.PostForm, route.Upload}})
}
