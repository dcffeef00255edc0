package dashboard_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestAuditLog(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	is.True(s.admin().get("audit").says("operator.created")) // there is no log without somebody to read it
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
		"Licence suspended", "“The invoice is open”", "ada@example.com",
		"Licence created", ">Web shop 2</a>", "<code>req_1</code>", `href="./licenses/` + l.ID + `"`,
		"Seat taken", "Reception", "the holder of the key",
		"Credential updated", "name: Web shop → Web shop 2", "Operator signed in", "Licence deleted",
	} {
		is.True(all.says(text))
	}
	is.Equal(strings.Count(all.body, `href="./licenses/`+gone.ID+`"`), 1) // its creation leads there, its end nowhere
	is.True(strings.Index(all.body, "Licence deleted") < strings.Index(all.body, "Operator created"))
	is.True(!all.says(l.Key))

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
	is.True(v.get("audit?subject=nobody").says("No event matches"))
	for _, query := range []string{"?type=license.mislaid", "?after=garbage", "?subject=%00"} {
		is.Equal(v.get("audit"+query).StatusCode, http.StatusBadRequest)
	}
}

func TestAuditLogOfSignIns(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	code, err := s.Auth().SetupCode(t.Context())
	is.NoErr(err)
	v := s.visitor()
	is.Equal(v.post("setup", "code", code, "email", "ada@example.com", "password", password).StatusCode, http.StatusSeeOther)
	is.True(!v.get("settings/operators").says("Never")) // the set-up was a sign-in
	is.Equal(s.visitor().post("sign-in", "email", "ada@example.com", "password", "not it").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(s.visitor().post("sign-in", "email", "eve@example.com", "password", "not it").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.post("sign-out").StatusCode, http.StatusSeeOther)

	a := s.signedIn("ada@example.com").get("audit")
	is.Equal(strings.Count(a.body, "Operator signed in"), 1+2) // in the list of types, and the two sign-ins
	is.Equal(strings.Count(a.body, "Operator signed out"), 1+1)
	is.Equal(strings.Count(a.body, "a visitor who was not signed in"), 2)
	is.Equal(strings.Count(a.body, "an unknown account"), 1)
	is.True(!a.says("<span>the host application") && !a.says("sessions changed"))
}

func TestAuditLogGoesBack(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(license.CreateParams{Name: "Number 0"})
	const changes = 2600 // more than one page looks through
	is.NoErr(s.Service().Atomically(t.Context(), func(svc *license.Service) error {
		for i := range changes {
			name := fmt.Sprintf("Number %d", i+1)
			if _, err := svc.Update(t.Context(), license.UpdateParams{ID: l.ID, Name: &name}); err != nil {
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
	seen, pages := 0, 0
	for page := "audit?type=license.updated"; page != ""; pages++ {
		a := v.get(page)
		seen += strings.Count(a.body, "license.updated</code>")
		page = older(a)
		s.advance(time.Second)
	}
	is.Equal(seen, changes)
	a := v.get("audit?type=license.created") // at the far end
	is.True(a.says("Nothing in this stretch"))
	a = v.get(older(a))
	is.True(a.says("Licence created") && older(a) == "")
}
