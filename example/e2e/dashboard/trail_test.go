package dashboard

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestTrail: the link above the heading leads to the page that the operator came from
// in this tab; without JavaScript, to the list.
func TestTrail(t *testing.T) {
	is := is.New(t)
	h := newHost(t)
	h.admin(t)
	licenseID, _ := h.seed(t)
	b := newSignedIn(t, h, true)
	crumb := func() string {
		return eval[string](b, `(a => a.textContent + " → " + a.href.replace(/.*\/dashboard\//, ""))(document.querySelector("main a.crumb"))`)
	}

	const list = "licenses?q=compass&status=active"
	b.open(list)
	b.press("Compass for harbour-pilots")
	is.Equal(crumb(), "Licenses → "+list)
	b.press("harbour-pilots")
	require.Contains(t, crumb(), "Compass for harbour-pilots → licenses/lic_")
	b.press("View in audit log") // has no such link, and begins a trail
	b.press("Licenses")
	b.open("customer?id=harbour-pilots") // typed, so nothing is known
	is.Equal(crumb(), "Customers → customers")
	b.press("Atlas for harbour-pilots")
	is.Equal(crumb(), "harbour-pilots → customer?id=harbour-pilots")
	b.press("Edit")
	is.Equal(crumb(), "Atlas for harbour-pilots → "+eval[string](b, `location.href.replace(/.*\/dashboard\//, "").replace("/edit", "")`))
	b.press("Save changes")
	b.see("Nothing was changed.")
	is.Equal(crumb(), "harbour-pilots → customer?id=harbour-pilots")
	b.press("harbour-pilots")
	is.Equal(crumb(), "Customers → customers") // the trail ends here

	b.open("licenses/new") // typed, too
	b.press("Create license")
	b.see("Fix ")
	is.Equal(crumb(), "Licenses → licenses")
	b.open("licenses/import")
	b.preview(goodCSV)
	is.Equal(crumb(), "Licenses → licenses") // not the page itself

	// A page that the browser shows again from its history ends the trail as it did before.
	b.open(list)
	b.press("Compass for harbour-pilots")
	is.Equal(eval[string](b, `(() => {
		sessionStorage.trail = JSON.stringify([...JSON.parse(sessionStorage.trail), {key: "later"}]);
		dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}));
		return JSON.parse(sessionStorage.trail).at(-1).title;
	})()`), "Compass for harbour-pilots")

	// Results of a change in bulk lead back to the list that was left.
	b.open(list)
	eval[bool](b, `document.querySelector("[name=id]").click(), true`)
	b.press("Suspend")
	is.Equal(crumb(), "Licenses → "+list)
	b.press("Suspend 1 license")
	b.press("Go to licenses")
	is.Equal(eval[string](b, `location.search`), "?q=compass&status=active")

	// After a sign-in, nothing is known of who was here before.
	b.open("licenses/" + licenseID)
	is.Equal(crumb(), "Licenses → licenses")
	is.Equal(b.policyErrors(), nil)

	plain := newSignedIn(t, h, false)
	plain.open(list)
	plain.press("Compass for studio-meridian")
	plain.press("Licenses")
	plain.see("Atlas for kestrel-optics")
}
