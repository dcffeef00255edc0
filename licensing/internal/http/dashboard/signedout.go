package dashboard

import (
	"net/http"
	"net/url"
)

// renderSignedOut responds to a form of an operator whose session has ended. The page
// keeps what was entered, so that it can be submitted again after a sign-in in another
// tab. An upload is not read without a session, so its page keeps nothing. Forms of the
// sign-in section have passwords and codes, which no page repeats.
func (v *visit) renderSignedOut(route *route) error {
	if route.upload {
		v.w.Header().Set("Connection", "close") // the rest of the file is not read
	}
	return v.render(http.StatusForbidden, "signedout", page{Title: "Your session has ended", Standalone: true, Body: struct {
		Action string
		Fields url.Values
		Upload bool
	}{v.root + v.here(), v.r.PostForm, route.upload}})
}
