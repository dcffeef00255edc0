package licensing

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"
)

// fixes say, for each option that can be wrong, what it must be.
var fixes = map[string]string{
	"PublicURL":                  `must be an absolute http or https URL without user, query and fragment, such as "https://example.com/licensing"`,
	"MasterKey":                  "must be at least 32 bytes",
	"AllowedOrigins":             fixOrigins,
	"IdempotencyTTL":             "must be at least 24 hours, or zero for that",
	"PollInterval":               "must be from 10 milliseconds to a minute, or zero for a second",
	"Tokens.TTL":                 "must be from a minute to 24 hours, or zero for an hour",
	"Tokens.Max":                 "must be from 1 to 10,000, or zero for 1,000",
	"Tokens.MaxFailures":         "must be from 1 to 1,000, or zero for 20",
	"Tokens.MaxBody":             "must be at least 1,024 bytes, or zero for 16,384",
	"Limits.MaxBody":             "must be at least 1,024 bytes, or zero for 65,536",
	"Limits.MaxImport":           "must be at least 1,024 bytes, or zero for 16,777,216",
	"Limits.BodyTimeout":         "must be positive, or zero for 10 seconds",
	"Limits.Timeout":             "must be positive, or zero for 30 seconds",
	"Events.ExpiryNotices":       "must be from a minute to 10 years each",
	"Events.Retention":           "must be at least 24 hours, or zero to keep events forever",
	"Webhooks.Ports":             "must be from 1 to 65535",
	"Webhooks.DeliveryRetention": "must be at least an hour, or zero for 30 days",
	"Dashboard.Origins":          fixOrigins,
}

const fixOrigins = `must be origins: a scheme and a host in lower case, such as "https://app.example.com", without a path; "*" is not allowed`

// fixEmptyKey is about a MasterKey that is empty but not nil.
const fixEmptyKey = "is empty but not nil: the variable or file it is read from is probably unset or empty; " +
	"set that to at least 32 random bytes, or leave MasterKey nil to keep webhook secrets unsealed"

// Validate reports every option that is out of bounds, and how to fix it. It is
// for options that come from a configuration: [NewHandler] panics with the same
// text.
func (o Options) Validate() error {
	var broken validator.ValidationErrors
	errors.As(optionChecker().Struct(o), &broken)
	var all []error
	seen := make(map[string]bool)
	for _, b := range broken {
		field, _, _ := strings.Cut(strings.TrimPrefix(b.StructNamespace(), "Options."), "[") // without the index
		if !seen[field] {
			seen[field] = true
			fix := fixes[field]
			if field == "MasterKey" && len(o.MasterKey) == 0 {
				fix = fixEmptyKey
			}
			all = append(all, fmt.Errorf("licensing: Options.%s %s", field, fix))
		}
	}
	return errors.Join(append(all, o.checkSubscribers()...)...)
}

var optionChecker = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	for tag, ok := range map[string]func(string) bool{"mount": isMount, "origin": isOrigin} {
		if err := v.RegisterValidation(tag, func(f validator.FieldLevel) bool { return ok(f.Field().String()) }); err != nil {
			panic(err)
		}
	}
	return v
})

// isMount reports whether s is an address that others can be built on.
func isMount(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}

// isOrigin reports whether s is an origin as a browser writes it.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != "" && u.Scheme+"://"+u.Host == s
}
