package payment

import (
	"cmp"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// maxAddress is how long an address may be, so that the customer ID "mail:" and the address
// is not too long.
const maxAddress = valid.MaxText - len("mail:")

// of returns p with the name and the address of the customer, which the customer has typed.
// Without a name, the license has the address as its name.
func (a account) of(p api.RecordPurchaseParams, name, email string) api.RecordPurchaseParams {
	address, ok := cleanAddress(email)
	if !ok && email != "" {
		inner.Of(a.sales).Logger().Warn("the address of a customer was left out, because it is not one", "provider", a.provider, "customer", p.CustomerID)
	}
	p.Name = cmp.Or(cleanName(name), address)
	if ok {
		p.Metadata = map[string]*string{"email": &address}
	}
	return p
}

// cleanName returns a name as a license can have it: on one line, without control characters
// and invalid ones, and not too long.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsSpace(r) && !valid.IsText(string(r)) {
			return -1
		}
		return r
	}, name)
	letters := []rune(strings.Join(strings.Fields(name), " "))
	if end := valid.MaxText; len(letters) > end {
		const joiner = '\u200d' // between the parts of one emoji
		for end > 0 && (unicode.Is(unicode.M, letters[end]) || letters[end] == joiner || letters[end-1] == joiner) {
			end--
		}
		letters = letters[:end]
	}
	return strings.TrimSpace(string(letters))
}

// cleanAddress returns a mail address, if the text is one.
func cleanAddress(text string) (string, bool) {
	text = strings.TrimSpace(text)
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text || !valid.IsText(text) || utf8.RuneCountInString(strings.ToLower(text)) > maxAddress {
		return "", false
	}
	return text, true
}
