package dashboard_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/dashboard"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestAuditLog(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	is.True(s.admin().get("audit").says("operator.created")) // recorded when the operator was created
	v := s.signedIn("ada@example.com")
	c, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.NoErr(err)
	name := "Web shop 2"
	_, err = s.Auth().UpdateClient(t.Context(), auth.UpdateClientParams{ID: c.ID, Name: &name})
	is.NoErr(err)
	l, err := s.Service().As(license.Caller{Actor: "client:" + c.ID, RequestID: "req_1"}).Create(t.Context(), license.CreateParams{Name: "Atlas", ProductID: "atlas", CustomerID: "bakery"})
	is.NoErr(err)
	s.activate(l, "machine-1", "Reception")
	v.post("licenses/"+l.ID+"/suspend", "reason", "The invoice is open")
	gone := s.license(license.CreateParams{Name: "Gone"})
	is.NoErr(s.Service().Delete(t.Context(), license.DeleteParams{ID: gone.ID}))

	all := v.get("audit")
	is.Equal(all.StatusCode, http.StatusOK)
	for _, text := range []string{
		"License suspended", "“The invoice is open”", "ada@example.com",
		"License created", ">Web shop 2</a>", "<code>req_1</code>", `href="./licenses/` + l.ID + `"`,
		"Activation created", "Reception", "license key holder",
		"Credential updated", "Name: Web shop → Web shop 2", "Operator signed in", "License deleted",
	} {
		is.True(all.says(text))
	}
	is.Equal(strings.Count(all.body, `href="./licenses/`+gone.ID+`"`), 1) // linked from its creation only
	is.True(strings.Index(all.body, "License deleted") < strings.Index(all.body, "Operator created"))
	is.True(!all.says(l.Key))
	is.True(all.says("All credential events") && all.says("All webhook events"))

	types := func(query string) []string {
		var list []string
		for _, m := range regexp.MustCompile(`<code class="sub">([\w.]+)</code>`).FindAllStringSubmatch(v.get("audit"+query).body, -1) {
			list = append(list, m[1])
		}
		return list
	}
	is.Equal(types("?type=license.suspended"), []string{"license.suspended"})
	is.Equal(types("?type=client.*"), []string{"client.updated", "client.created"})
	is.Equal(types("?subject="+c.ID), []string{"client.updated", "client.created"})
	is.Equal(types("?customer=bakery"), []string{"license.suspended", "activation.created", "license.created"})
	is.True(v.get("audit?subject=unknown").says("No matching events"))
	for _, query := range []string{"?type=license.mislaid", "?after=garbage", "?subject=%00"} {
		is.Equal(v.get("audit"+query).StatusCode, http.StatusBadRequest)
	}
}

func TestAuditLogOfSignIns(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	code, err := s.Operators().CreateSetupCode(t.Context())
	is.NoErr(err)
	v := s.visitor()
	is.Equal(v.post("setup", "code", code, "email", "ada@example.com", "password", password).StatusCode, http.StatusSeeOther)
	is.True(!v.get("settings/operators").says("Never")) // the setup signed the operator in
	is.Equal(s.visitor().post("sign-in", "email", "ada@example.com", "password", "not it").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(s.visitor().post("sign-in", "email", "eve@example.com", "password", "not it").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.post("sign-out").StatusCode, http.StatusSeeOther)

	a := s.signedIn("ada@example.com").get("audit")
	is.Equal(strings.Count(a.body, "Operator signed in"), 1+2) // one option of the filter and two sign-ins
	is.Equal(strings.Count(a.body, "Operator signed out"), 1+1)
	is.Equal(strings.Count(a.body, "an anonymous visitor"), 2)
	is.Equal(strings.Count(a.body, "an unknown account"), 1)
	is.True(!a.says("<span>the host application") && !a.says("sessions changed"))
}

func TestAuditLogPages(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(license.CreateParams{Name: "Number 0"})
	const changes = 12_000 // six times the limit of one read
	is.NoErr(s.st.Update(t.Context(), func(tx store.Tx) error {
		for i := range changes {
			e := store.Event{ID: fmt.Sprintf("evt_%05d", i), Type: "license.updated", Time: s.clock(), Subject: l.ID, Actor: "go"}
			if i%40 == 0 {
				e.Type = "license.renewed"
			}
			if _, err := tx.AppendEvents(t.Context(), e); err != nil {
				return err
			}
		}
		return nil
	}))
	older := func(a reply) string {
		m := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(a.body)
		if m == nil {
			return ""
		}
		return "audit" + html.UnescapeString(m[1])
	}
	seen := 0
	for page := "audit?type=license.renewed"; page != ""; {
		a := v.get(page)
		n := strings.Count(a.body, "license.renewed</code>")
		is.True(n == 50 || older(a) == "") // every page but the last is full
		seen += n
		page = older(a)
	}
	is.Equal(seen, changes/40)

	a := v.get("audit?type=license.created") // older than all other events
	is.True(a.says("license.created</code>") && older(a) == "")

	// The work for one page is limited; the next page continues.
	defer dashboard.SetAuditReads(2)()
	page, pages := "audit?type=license.created", 0
	for ; !v.get(page).says("license.created</code>"); pages++ {
		a = v.get(page)
		is.True(a.says("No matches found yet") && a.says("Search older events"))
		page = older(a)
		is.True(page != "")
	}
	is.Equal(pages, 3) // 4,000 events each
}
