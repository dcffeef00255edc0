package mail

import (
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/texts"
)

// Texts are the texts of the mails and of the pages of [SignIn]. An empty text stands for the
// English one in its tag. A name in braces, such as {key}, is replaced with a value.
type Texts struct {
	Lang string `text:"en"` // of the pages, as in the lang attribute of HTML

	KeySubject  string `text:"Your license key for {product}"`
	KeyText     string `text:"Hello {name},\n\nthis is your license key for {product}:\n\n    {key}\n\nKeep it: {product} asks for it when you install it again.\n"`
	PagesText   string `text:"\nYour licenses, devices and license files: {url}\n"` // after KeyText, if there are pages
	Signature   string `text:"\n{shop}\n"`                                          // at the end of each mail, if Shop is set
	LinkSubject string `text:"Sign in to see your licenses"`
	LinkText    string `text:"Open this link within {minutes} minutes to see your licenses:\n\n{url}\n\nIt works once. If you did not ask for it, do nothing.\n"`

	// The mail to the address that support has changed.
	ChangeSubject string `text:"Your email address was changed"`
	ChangeText    string `text:"Our support has changed the email address of your licenses from {former} to {address}. Keys and links to your licenses go to the new address from now on.\n\nIf you did not ask for this, tell us immediately.\n"`

	Title   string `text:"Your licenses"`
	Email   string `text:"Your email address"`
	Ask     string `text:"Send a link"`
	Sent    string `text:"If you have a license, a link to it is on its way to you. It works for {minutes} minutes. You can get another link after five minutes."`
	TooMany string `text:"Too many links were requested from your network. Try again in a minute."`
	Token   string `text:"What follows # in the link"`
	SignIn  string `text:"Sign in"`
	Gone    string `text:"This link was used, has ended, or is incomplete. Request another one."`
	Again   string `text:"Request a link"`
	Failed  string `text:"The service cannot answer at the moment. Try again in a minute."`
}

// TextsFor returns the texts in a language: "en", "de" or "fr", of any region, such as "de-AT".
// In other languages, it returns the English texts and false. licensing.PortalTextsFor has
// those of the pages after the sign-in.
func TextsFor(lang string) (t Texts, ok bool) {
	return texts.For(lang, map[string]Texts{"en": {}, "de": germanTexts, "fr": frenchTexts})
}

// fill replaces names in braces with values: pairs of a name and a value.
func fill(text string, values ...string) string {
	pairs := make([]string, len(values))
	for i := 0; i < len(values); i += 2 {
		pairs[i], pairs[i+1] = "{"+values[i]+"}", values[i+1]
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
