package portal

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// A claimView is what the page shows on which a customer claims a license with its key.
type claimView struct {
	Problem string
	Key     string // as typed, if it was refused
	Code    string // of a program that waits to be activated; empty: none
}

// claims reports whether customers can claim licenses.
func (h *Handler) claims() bool { return len(inner.Of(h.opts.Licenses).Call().Opts.ClaimFrom) > 0 }

// showClaim shows the form for a key.
func showClaim(v *visit) error {
	if !v.h.claims() {
		return api.ErrNotFound
	}
	return v.showClaim(http.StatusOK, claimView{Code: v.r.URL.Query().Get("code")})
}

func (v *visit) showClaim(status int, body claimView) error {
	return v.render(status, "claim", v.text("ClaimTitle"), body)
}

// claimLicense gives the customer the license with a typed key, and continues with the
// program that waits for it.
func claimLicense(v *visit) error {
	if !v.h.claims() {
		return api.ErrNotFound
	}
	if err := web.LimitAddress(v.r); err != nil { // before a key is tried
		return err
	}
	p := api.ClaimLicenseParams{Key: v.r.PostFormValue("key")}
	if v.h.opts.Name != nil {
		p.Name = v.h.opts.Name(v.r)
	}
	if v.h.opts.Email != nil {
		p.Email = v.h.opts.Email(v.r)
	}
	body := claimView{Key: p.Key, Code: v.r.PostFormValue("code")}
	l, err := inner.Of(v.customer).Claim(v.r.Context(), p)
	invalid, _ := errors.AsType[*api.InvalidError](err)
	switch {
	case err == nil && body.Code == "":
		return v.redirect(l.ID + "?claimed")
	case err == nil:
		return v.redirect("link?" + url.Values{"code": {body.Code}, "claimed": {l.ProductID}}.Encode())
	case errors.Is(err, api.ErrNotFound), invalid != nil && invalid.Fields[0].Field == "key":
		body.Problem = v.text("ClaimNone")
	case errors.Is(err, api.ErrClaimed):
		body.Problem = v.text("ClaimTaken")
	case errors.Is(err, api.ErrStateForbids):
		body.Problem = v.text("ClaimOver")
	default:
		return err
	}
	return v.showClaim(http.StatusConflict, body)
}
