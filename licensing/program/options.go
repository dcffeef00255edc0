package program

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// Options are the options of [Open]. Keys and ProductID are required, and URL
// unless the machine has no network.
type Options struct {
	// URL is where the service is mounted, such as
	// "https://acme.example/licensing". Empty: the program makes no requests, and
	// runs from files that its user installs; see [License.Install].
	URL string

	// Keys are the public keys that sign license files, as GET /file/keys returns
	// them. Embed them: keys that the program fetched would prove nothing.
	Keys []byte

	// ProductID is the product that the license must be for.
	ProductID string

	// AlsoProductID is the product of a bundle, such as "suite", that this program is a part
	// of: a license of it counts too if it has an entitlement that is named as ProductID. The
	// default Fingerprint is that of the bundle then, so that its programs take one seat of a
	// machine. A program that gets AlsoProductID in an update keeps its license and its seat.
	// Empty: none.
	AlsoProductID string

	// Key is the license key. Empty: the one that [License.SetKey] stored.
	Key string

	// Dir is the directory for the license file and what belongs to it; see the
	// package documentation. It is created when it is needed, and may be shared by
	// any number of processes. Empty: a directory below [os.UserConfigDir], which
	// programs share that have the same ProductID and at least one of Keys in common.
	Dir string

	// Fingerprint identifies this installation: a machine, a container or a user,
	// as the program chooses. A seat of the license is taken for it. Empty: a hash
	// of the product of the license and the ID of the machine or, without one, a random ID that is
	// kept in Dir. With PerProcess, a random part is added for each process.
	Fingerprint string

	// PerProcess makes each process take a seat of its own, from Open to Close. A process
	// that is killed has it until its lease ends. The license needs lease_seconds, and no
	// offline_seconds, otherwise the code of the status is lease_required. Without the
	// service, the process is valid until its lease ends. No license file is kept in Dir.
	// URL is required.
	PerProcess bool

	// BuiltAt is when this build of the program was made. A license whose updates
	// ended before that is not valid for it; see api.License.UpdatesUntil. Zero: not
	// checked.
	BuiltAt time.Time

	// Name describes the activation to operators. Empty: the host name and, with
	// PerProcess, the ID of the process.
	Name string

	// Version is the version of the program, such as "2.1.0", which is the member version of
	// the metadata of the activation, for operators and the support. After an update, the
	// first check of the new version replaces it. Empty: none.
	Version string

	// HTTPClient sends the requests. Nil: a client with the transport of
	// [http.DefaultTransport], which uses the proxy of the environment. Redirects
	// are never followed, so that the license key reaches no other address.
	HTTPClient *http.Client

	// OnChange is called after any part of the status but CheckedAt has changed.
	// The calls begin when Open returns, and are made one after the other.
	// OnChange must not call Close. A panic in it is a warning of the status.
	OnChange func(Status)
}

// maxText is the maximum length of names and IDs, in characters.
const maxText = 255

// maxEntitlement is the maximum length of the name of an entitlement, in characters.
const maxEntitlement = 64

// complete fills in the defaults, and returns an error that names an invalid
// option.
func (o *Options) complete() error {
	if len(o.Keys) == 0 {
		return errors.New("program: Options.Keys must be set to the answer of GET /file/keys")
	}
	if o.ProductID == "" {
		return errors.New("program: Options.ProductID must be set")
	}
	for _, f := range []struct{ name, value string }{{"ProductID", o.ProductID}, {"AlsoProductID", o.AlsoProductID}, {"Fingerprint", o.Fingerprint}, {"Name", o.Name}, {"Version", o.Version}} {
		if !isText(f.value) {
			return fmt.Errorf("program: Options.%s must be at most %d characters of UTF-8 without control characters, and without white space at its ends", f.name, maxText)
		}
	}
	if o.AlsoProductID != "" && utf8.RuneCountInString(o.ProductID) > maxEntitlement {
		return fmt.Errorf("program: Options.ProductID must be at most %d characters with AlsoProductID, to be the name of an entitlement", maxEntitlement)
	}
	if o.AlsoProductID == o.ProductID {
		return errors.New("program: Options.AlsoProductID must be another product than ProductID")
	}
	base, err := parseURL(o.URL)
	if err != nil {
		return fmt.Errorf("program: Options.URL %w", err)
	}
	if o.PerProcess && base == "" {
		return errors.New("program: Options.URL must be set with PerProcess")
	}
	if o.PerProcess && utf8.RuneCountInString(o.Fingerprint) > maxText-len(processPart()) {
		return fmt.Errorf("program: Options.Fingerprint must be at most %d characters with PerProcess", maxText-len(processPart()))
	}
	o.URL, o.Key = base, strings.TrimSpace(o.Key)
	if o.Name == "" {
		if host, err := os.Hostname(); err == nil && isText(host) {
			o.Name = host
		}
		if o.PerProcess {
			o.Name = strings.TrimSpace(fmt.Sprintf("%s process %d", o.Name, os.Getpid()))
		}
	}
	return nil
}

// isText reports whether the service accepts s as a name or an ID.
func isText(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxText && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// parseURL returns the URL of a service without a final slash. The error
// completes a sentence that begins with the name of the option.
func parseURL(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return "", nil
	case err != nil:
		return "", errors.New("must be a URL") // the error could repeat a password
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", errors.New(`must begin with "https://" and a host`)
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return "", errors.New("must not have a user name, a query or a fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}
