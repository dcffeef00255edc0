package licensing

import (
	"html/template"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/texts"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/portal"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// A Portal configures the pages of [Handler.Portal].
type Portal struct {
	// Customer returns the ID of the customer who makes the request, as the
	// host's own sign-in knows it: take it from a verified session, never from
	// unverified request data. If no customer is signed in, Customer answers the
	// request, for instance with a redirect to the sign-in, and returns false.
	// An ID with true that no customer can have, such as an empty one, is refused with
	// 403 and logged. Required, unless Mailbox is set.
	Customer func(http.ResponseWriter, *http.Request) (id string, ok bool)

	// Mailbox takes the place of Customer if visitors sign in by a mail: it returns the
	// address whose mail the visitor reads, as a link that was mailed there proves, and is
	// otherwise as Customer. The pages show the licenses whose own metadata has that address
	// under "email", of several customers too, and no other licenses of these customers; see
	// [license.Service.Mailbox].
	Mailbox func(http.ResponseWriter, *http.Request) (address string, ok bool)

	// Name returns the name of the customer who makes the request, from a verified
	// session, for a license that the customer claims with its key. Default: none; the
	// license keeps its name.
	Name func(*http.Request) string

	// Email returns the email address of that customer, also from a verified session. With
	// Mailbox, its address takes the place of Email. Default: none; the license has no
	// address.
	Email func(*http.Request) string

	// Origins are the origins, such as "https://shop.example", at which browsers reach the
	// pages if a proxy rewrites the Host header. Forms sent from other origins are refused.
	// Default: none.
	Origins []string

	// Page writes a page in the layout of the host. The body needs no inline
	// style or script; it links a style sheet and a script of the portal, which
	// are served below the same mount. The Content-Security-Policy is then the
	// host's; it must allow both. The status of an error is set by the first
	// Write. Default: a plain page with a strict Content-Security-Policy.
	Page func(w http.ResponseWriter, r *http.Request, title string, body template.HTML)

	// Buy returns the URL at which a customer can buy a license of a product, for the page
	// of a trial, and for the page on which a program is activated if the customer has no
	// valid license of it; empty: none. Default: the page of a trial has the link of Renew,
	// and the other one says only that there is no license.
	Buy func(productID string) (url string)

	// Renew returns the URL at which the customer of a license can renew it or buy more
	// seats; empty: none. The page of the license links it if the license has an end, and if
	// no seat is free. Default: no license has one.
	Renew func(l api.License) (url string)

	// SignOut is where a button of the pages posts a form to sign out: a reference from
	// the mount, such as "../sign-out". Pages in the layout of Page do not have it. Default:
	// no button.
	SignOut string

	// Texts replace texts of the pages, for customers who read another language.
	// [PortalTextsFor] has them in some languages.
	Texts PortalTexts
}

// PortalTexts are the texts of the customers' pages. An empty text stands for the
// English one in its tag. A name in braces, such as {date}, is replaced with a
// value.
type PortalTexts struct {
	Lang      string `text:"en"`             // of the pages, as in the lang attribute of HTML
	Date      string `text:"2 January 2006"` // layout of dates, as of package time
	DateFirst string // layout of dates on the first day of a month; empty: Date
	Months    string `text:"January February March April May June July August September October November December"` // that take the place of the English ones in dates, separated by spaces

	Title    string `text:"Your licenses"`
	None     string `text:"You have no licenses yet."`
	Waiting  string `text:"We have your purchase of {date}. Its license is not ready yet; it will be shown here."`
	NextPage string `text:"Next page"`
	AllOfMy  string `text:"All your licenses"`
	Product  string `text:"Product"`
	Plan     string `text:"Plan"`
	Key      string `text:"License key"`
	Copy     string `text:"Copy"`
	Copied   string `text:"Copied"`
	Validity string `text:"Valid until"`
	EndedOn  string `text:"Ended on"`
	Never    string `text:"No end date"`
	NotYet   string `text:"The period begins with the first activation"`
	Updates  string `text:"Includes updates until"`

	Usage        string `text:"Usage"`
	MeterUsed    string `text:"{used} of {limit} used"`
	MeterCounted string `text:"{used} used"`
	MeterResets  string `text:"Starts again on {date}"`

	Active    string `text:"Active"`
	Grace     string `text:"Ended; works until {date}"`
	Expired   string `text:"Ended on {date}"`
	Scheduled string `text:"Starts on {date}"`
	Suspended string `text:"Paused"`
	Revoked   string `text:"No longer valid"`

	ExpiredHelp   string `text:"Renew it where you bought it. The key stays the same."`
	TrialHelp     string `text:"This was a trial. Buy a license to continue."`
	SuspendedHelp string `text:"Contact us to have it switched on again."`
	Renew         string `text:"Renew"`
	RevokedHelp   string `text:"Contact us if you think that this is a mistake."`

	Devices      string `text:"Devices"`
	DevicesUsed  string `text:"{used} of {limit} in use"`
	MoreDevices  string `text:"{number} more until {date}"`
	BuyDevices   string `text:"More devices"`
	NoDevices    string `text:"No device uses this license now."`
	LastSeen     string `text:"Last used on {date}"`
	HeldUntil    string `text:"Works offline until {date}"`
	Release      string `text:"Remove"`
	ReleaseAsk   string `text:"Its place becomes free, and the program on it stops at its next check."`
	ReleaseHeld  string `text:"The program on it can still run with its license file until {date}."`
	Released     string `text:"The device was removed. Its place is free for another one."`
	SeatHeld     string `text:"This device works offline until {date} and can be removed then. Until then it keeps its place."`
	DevicesFull  string `text:"All devices of this license are in use. Remove one of them first."`
	ReleaseLabel string `text:"Remove {name}"`

	Offline     string `text:"Use without a network"`
	OfflineHelp string `text:"A license file lets the program run without a network for a while. Download it for a device and open it in the program there."`
	Download    string `text:"Download license file"`
	Request     string `text:"Request of a device without a network"`
	RequestHelp string `text:"On such a device the program shows a request text or saves it as a file. Paste the text or choose the file; you get a license file to carry back."`
	RequestFile string `text:"Or choose the request file"`
	Answer      string `text:"Get license file"`
	BadRequest  string `text:"This is not the whole request text of a program with this license. Copy it again, from the first to the last character."`
	OfficeFull  string `text:"This license has fewer free devices than the office asks for. Ask for fewer, or remove devices first."`
	NoOffline   string `text:"This license cannot be used without a network."`
	NotValid    string `text:"The license is not valid now, so there is no license file."`

	History       string `text:"Latest changes"`
	Created       string `text:"License created"`
	Renewed       string `text:"Renewed"`
	Rekeyed       string `text:"New license key"`
	Transferred   string `text:"License received"`
	PausedThen    string `text:"Paused"`
	Reinstated    string `text:"Active again"`
	RevokedThen   string `text:"Made invalid"`
	ExpiredThen   string `text:"Ended"`
	DeviceAdded   string `text:"{name} added"`
	DeviceRemoved string `text:"{name} removed"`
	FileIssued    string `text:"License file issued"`
	FileIssuedFor string `text:"License file issued for {name}"`

	LinkTitle    string `text:"Activate a program"`
	LinkWarning  string `text:"Continue only if you have just started this program yourself, on your own device. If another person sent you this page or the code, decline: that person would use your license."`
	LinkCode     string `text:"Code"`
	LinkCodeHelp string `text:"The program shows a code of eight letters."`
	Continue     string `text:"Continue"`
	Device       string `text:"Device"`
	LinkChoose   string `text:"Choose a license"`
	LinkNone     string `text:"You have no valid license of this product."`
	Buy          string `text:"Buy a license"`
	LinkFull     string `text:"All devices of this license are in use, so another device must give its place to this one."`
	LinkGivesWay string `text:"Choose the device that stops"`
	LinkOther    string `text:"Back to all licenses of this product"`
	LinkUsed     string `text:"This license includes no more activations."`
	LinkNotValid string `text:"This license cannot be used for it. Choose another one."`
	LinkGone     string `text:"The code is wrong, was used, or has ended. Start again in the program."`
	LinkDeclined string `text:"Nothing was activated. You can close this page."`
	Linked       string `text:"The program is activated. Return to it; it continues in a few seconds."`
	Approve      string `text:"Activate"`
	Decline      string `text:"Decline"`

	ClaimTitle   string `text:"Add a license"`
	ClaimHelp    string `text:"Type or paste the license key that you have."`
	Claim        string `text:"Add"`
	Claimed      string `text:"The license was added."`
	ClaimedOther string `text:"The license was added. It is for another product than this program."`
	ClaimNone    string `text:"No license has this key. Check it for typos."`
	ClaimTaken   string `text:"The license with this key is in another account. Contact us if it should be in yours."`
	ClaimOver    string `text:"The license with this key is not valid, so it cannot be added. Contact us if you think that this is a mistake."`

	SignOut string `text:"Sign out"`

	NotFound    string `text:"There is no such page, or it is not yours."`
	NotAllowed  string `text:"This is not allowed."`
	Unavailable string `text:"The service cannot answer at the moment. Try again in a minute."`
	Failed      string `text:"Something went wrong, and nothing was changed. Try again."`
}

// Portal returns the handler of pages on which customers help themselves with
// their own licenses: they see keys and validity, remove devices, get license
// files, activate programs that show a code and, with Options.ClaimFrom, add licenses by
// their keys. Mount it below the host's own login, with a trailing slash in the
// pattern:
//
//	mux.Handle("/account/licenses/", http.StripPrefix("/account/licenses", h.Portal(licensing.Portal{Customer: currentUser})))
//
// The pages work without JavaScript and under any prefix. Forms from other sites
// are refused. They show nothing of other customers. A host with a front end
// of its own uses [license.Service.Customer] instead, which has the same rules.
//
// Portal panics unless one of p.Customer and p.Mailbox is set, if one of p.Origins is not an
// origin, or if p.Texts.Months has not twelve names.
func (h *Handler) Portal(p Portal) http.Handler {
	if (p.Customer == nil) == (p.Mailbox == nil) {
		panic("licensing: Portal.Customer is required: the function that returns the ID of the signed-in customer; or Portal.Mailbox instead")
	}
	words := texts.Default(p.Texts)
	if len(strings.Fields(words.Months)) != 12 {
		panic("licensing: Portal.Texts.Months must have twelve names, separated by spaces")
	}
	h.portals.Store(true)
	pages := portal.New(portal.Options{
		Licenses: h.service, Sign: h.files.Sign, Logger: h.opts.Logger,
		Customer: p.Customer, Mailbox: p.Mailbox, Name: p.Name, Email: p.Email, Origins: p.Origins, Page: p.Page, Buy: p.Buy, Renew: p.Renew, SignOut: p.SignOut, Texts: words.byName(),
	})
	return web.NewSite(h.site, nil, pages.Section())
}
