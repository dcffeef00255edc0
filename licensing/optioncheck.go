package licensing

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
)

// optionChecker has the rules for the tags of Options.
var optionChecker = valid.New(map[string]valid.Rule{
	"mount": valid.Text(isMount, "",
		`must be an absolute http or https URL without user info, query or fragment, such as "https://example.com/licensing"`),
	"claim": valid.Text(func(s string) bool { return len(s) > 1 && strings.HasSuffix(s, ":") }, "",
		`must be beginnings of customer IDs that end with a colon, such as "batch:"`),
	"origin": valid.Text(isOrigin, "",
		`must be origins: a scheme and a host in lower case, such as "https://app.example.com", without a path; "*" is not allowed`),
})

// fixEmptyKey describes a MasterKey that is empty but not nil.
const fixEmptyKey = "is empty but not nil; its environment variable or file is probably unset or empty; " +
	"set it to at least 32 random bytes, or leave MasterKey nil to store webhook secrets and signing keys in plain text"

// Validate returns an [*api.InvalidError] that lists every invalid option, such as
// "Options.Tokens.TTL", and how to fix it, or nil. Call it for options from a
// configuration file; [NewHandler] panics with the same text.
func (o Options) Validate() error {
	var all []api.FieldError
	add := func(option, code, detail string) {
		all = append(all, api.FieldError{Field: "Options." + option, Code: code, Detail: detail})
	}
	seen := make(map[string]bool)
	for _, f := range optionChecker.Check(o) {
		field, _, _ := strings.Cut(f.Path, "[") // without the index
		if seen[field] {
			continue
		}
		seen[field] = true
		if field == "MasterKey" && len(o.MasterKey) == 0 {
			f.Detail = fixEmptyKey
		}
		add(field, cmp.Or(f.Code, api.FieldInvalidFormat), f.Detail)
	}
	if len(o.PreviousMasterKeys) > 0 && o.MasterKey == nil {
		add("PreviousMasterKeys", api.FieldInvalidFormat, "needs MasterKey, without which new secrets would be stored in plain text; "+
			"set MasterKey to the key that encrypts from now on")
	}
	if o.Dashboard.RequireSecondFactor && o.Dashboard.Operator != nil {
		add("Dashboard.RequireSecondFactor", api.FieldInvalidFormat, "has no effect with Dashboard.Operator, which replaces the built-in sign-in; "+
			"require the second factor in the sign-in of the application, and remove the option")
	}
	if err := inner.Of(new(files.Service)).Validate(o.SigningKeys); err != nil {
		key, detail, _ := strings.Cut(err.Error(), " ")
		add(key, api.FieldInvalidFormat, detail)
	}
	o.checkSubscribers(add)
	if all == nil {
		return nil
	}
	return &api.InvalidError{Fields: all}
}

// isMount reports whether s is a URL to which paths can be appended.
func isMount(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}

// isOrigin reports whether s is an origin in the form that browsers send.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != "" && u.Scheme+"://"+u.Host == s
}
