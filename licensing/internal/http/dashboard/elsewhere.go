package dashboard

import (
	"errors"
	"net/url"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// The numbers of fingerprints that a search shows.
const (
	fingerprintsFound   = 5
	fingerprintsPerPage = 50
)

// elsewhere is what a search finds outside of the texts of licenses.
type elsewhere struct {
	Keys     []licenseRow // licenses whose key contains the text
	AllKeys  string       // the list of all of them, as a reference from dashboard/
	MoreKeys bool         // it has more, or the search in keys did not reach its end

	Activations []licenseSeat // with a fingerprint that begins with the text
	Next        string        // more of them, as a reference from dashboard/; empty: there are none
}

// None reports whether nothing was found.
func (e elsewhere) None() bool {
	return len(e.Keys) == 0 && !e.MoreKeys && len(e.Activations) == 0 && e.Next == ""
}

// addKeys adds licenses by a part of their key, for a filter whose search result is
// the page. Keys are searched only for operators who may see them, and only if the
// search has found nothing; one that did not reach its end can be repeated in keys.
func (e *elsewhere) addKeys(v *kit.Visit, f Filter, result api.ListPage) error {
	if !v.May(kit.KeyReaders) || f.Search == "" || f.Key != "" || len(result.Data) > 0 {
		return nil
	}
	f.Search, f.Key = "", f.Search
	e.AllKeys = "licenses?" + f.query().Encode()
	if result.HasMore || result.PrevCursor != "" {
		return nil
	}
	p := f.params(v.Opts.Now())
	p.Limit = licensesFound
	page, _, err := listedLicenses(v, f, p)
	if err != nil {
		return err
	}
	if e.MoreKeys = page.HasMore; !e.MoreKeys && len(page.Data) == 0 {
		e.AllKeys = ""
	}
	e.Keys, err = licenseRows(v, page.Data)
	return err
}

// addFingerprints adds the activations whose fingerprint begins with a text: the first
// ones, or the page at a cursor.
func (e *elsewhere) addFingerprints(v *kit.Visit, text, cursor string) error {
	limit := fingerprintsFound
	if cursor != "" {
		limit = fingerprintsPerPage
	}
	found, err := inner.Of(v.Licenses).Find().FindActivations(v.R.Context(), text, cursor, limit)
	if invalid, ok := errors.AsType[*api.InvalidError](err); ok && invalid.Fields[0].Field != "cursor" {
		return nil // no fingerprint begins with the text
	} else if err != nil {
		return err
	}
	for _, x := range found.Data {
		e.Activations = append(e.Activations, licenseSeat{activationRow{Activation: x.Activation}, x.License})
	}
	if found.HasMore {
		e.Next = "search?" + url.Values{"q": {text}, "activations": {found.NextCursor}}.Encode()
	}
	return nil
}
