package licensing

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
)

// optionChecker has the rules for the tags of Options.
var optionChecker = valid.New(map[string]valid.Rule{
	"mount": valid.Text(isMount, "",
		`must be an absolute http or https URL without user info, query or fragment, such as "https://example.com/licensing"`),
	"origin": valid.Text(isOrigin, "",
		`must be origins: a scheme and a host in lower case, such as "https://app.example.com", without a path; "*" is not allowed`),
})

// fixEmptyKey describes a MasterKey that is empty but not nil.
const fixEmptyKey = "is empty but not nil; its environment variable or file is probably unset or empty; " +
	"set it to at least 32 random bytes, or leave MasterKey nil to store webhook secrets and signing keys in plain text"

// Validate returns an error that lists every invalid option and how to fix it.
// Call it for options from a configuration file; [NewHandler] panics with the
// same text.
func (o Options) Validate() error {
	var all []error
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
		all = append(all, fmt.Errorf("licensing: Options.%s %s", field, f.Detail))
	}
	if len(o.PreviousMasterKeys) > 0 && o.MasterKey == nil {
		all = append(all, errors.New("licensing: Options.PreviousMasterKeys needs MasterKey, without which new secrets would be stored in plain text; "+
			"set MasterKey to the key that encrypts from now on"))
	}
	if o.Dashboard.RequireSecondFactor && o.Dashboard.Operator != nil {
		all = append(all, errors.New("licensing: Options.Dashboard.RequireSecondFactor has no effect with Dashboard.Operator, which replaces the built-in sign-in; "+
			"require the second factor in the sign-in of the application, and remove the option"))
	}
	if err := inner.Of(new(files.Service)).Validate(o.SigningKeys); err != nil {
		all = append(all, fmt.Errorf("licensing: Options.%w", err))
	}
	return errors.Join(append(all, o.checkSubscribers()...)...)
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
