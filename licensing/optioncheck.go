package licensing

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"
)

// fixes maps each option to its valid values.
var fixes = map[string]string{
	"PublicURL":                  `must be an absolute http or https URL without user info, query or fragment, such as "https://example.com/licensing"`,
	"MasterKey":                  "must be at least 32 bytes",
	"AllowedOrigins":             fixOrigins,
	"IdempotencyTTL":             "must be at least 24 hours, or zero for 24 hours",
	"PollInterval":               "must be between 10 milliseconds and 1 minute, or zero for 1 second",
	"Tokens.TTL":                 "must be between 1 minute and 24 hours, or zero for 1 hour",
	"Tokens.Max":                 "must be between 1 and 10,000, or zero for 1,000",
	"Tokens.MaxFailures":         "must be between 1 and 1,000, or zero for 20",
	"Tokens.MaxBody":             "must be at least 1,024 bytes, or zero for 16,384",
	"Limits.MaxBody":             "must be at least 1,024 bytes, or zero for 65,536",
	"Limits.MaxImport":           "must be at least 1,024 bytes, or zero for 16,777,216",
	"Limits.BodyTimeout":         "must be positive, or zero for 10 seconds",
	"Limits.Timeout":             "must be positive, or zero for 30 seconds",
	"Events.ExpiryNotices":       "must each be between 1 minute and 10 years",
	"Events.Retention":           "must be at least 24 hours, or zero to keep events forever",
	"Webhooks.Ports":             "must be between 1 and 65535",
	"Webhooks.DeliveryRetention": "must be at least 1 hour, or zero for 30 days",
	"Dashboard.Origins":          fixOrigins,
}

const fixOrigins = `must be origins: a scheme and a host in lower case, such as "https://app.example.com", without a path; "*" is not allowed`

// fixEmptyKey describes a MasterKey that is empty but not nil.
const fixEmptyKey = "is empty but not nil; its environment variable or file is probably unset or empty; " +
	"set it to at least 32 random bytes, or leave MasterKey nil to store webhook secrets in plain text"

// Validate returns an error that lists every invalid option and how to fix it.
// Call it for options from a configuration file; [NewHandler] panics with the
// same text.
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
