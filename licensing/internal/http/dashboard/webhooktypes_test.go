package dashboard_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// checkedTypes returns the values of the checkboxes for event types, and those
// that are checked.
func checkedTypes(a reply) (all, checked []string) {
	for _, m := range regexp.MustCompile(`name="types" value="([^"]*)"( checked)?`).FindAllStringSubmatch(a.body, -1) {
		all = append(all, m[1])
		if m[2] != "" {
			checked = append(checked, m[1])
		}
	}
	return all, checked
}

func TestWebhookEventTypes(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()

	// The form has all types that a webhook can receive. What happens to licenses and
	// activations is selected, and the other types are folded.
	a := v.get("settings/webhooks/new")
	all, checked := checkedTypes(a)
	is.Equal(checked, []string{"license.*", "activation.*"})
	is.Equal(all[:3], []string{"all", "license.*", "activation.*"})
	require.Contains(t, a.body, "<details><summary>Other groups and single types</summary>")
	for _, eventType := range api.EventTypes() {
		if slices.Contains(all, eventType) == (eventType == api.EventWebhookTest) {
			t.Errorf("%s is offered: %t", eventType, slices.Contains(all, eventType))
		}
	}
	for _, offered := range all[1:] {
		family, isFamily := strings.CutSuffix(offered, "*")
		is.True(slices.ContainsFunc(api.EventTypes(), func(t string) bool { return t == offered || isFamily && strings.HasPrefix(t, family) })) // a type of events
	}
	require.Includes(t, all, "license.*")
	require.Includes(t, all, "license_file.*")
	require.Contains(t, a.body, "<legend>Licenses</legend>", "All license events")

	w := s.webhook("https://shop.example/hooks")
	edit := "settings/webhooks/" + w.ID + "/edit"
	save := func(types ...string) {
		form := []string{"url", w.URL}
		for _, t := range types {
			form = append(form, "types", t)
		}
		is.Equal(v.change(edit, form...).StatusCode, http.StatusSeeOther)
	}
	stored := func() []string {
		w, err := s.Webhooks().Get(t.Context(), w.ID)
		is.NoErr(err)
		return w.Types
	}
	save("all", "operator.*") // which all events include
	is.Equal(len(stored()), 0)
	save("license.*", "activation.created")
	is.Equal(stored(), []string{"activation.created", "license.*"})
	_, checked = checkedTypes(v.get(edit))
	is.Equal(checked, []string{"license.*", "activation.created"})

	// A type that the form does not offer is kept.
	custom := []string{"customer.*"}
	_, err := s.Webhooks().Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Types: &custom})
	is.NoErr(err)
	_, checked = checkedTypes(v.get(edit))
	is.Equal(checked, custom)
	save("customer.*", "license.created")
	is.Equal(stored(), []string{"customer.*", "license.created"})

	// An invalid selection stays on the page and changes nothing.
	for want, types := range map[string][]string{
		"Select at least one event, or “All events”.": nil,
	} {
		form := []string{"url", w.URL}
		for _, t := range types {
			form = append(form, "types", t)
		}
		a := v.change(edit, form...)
		is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
		require.Contains(t, a.body, `id="f-types-error">`+want, `href="#f-types"`)
		_, checked := checkedTypes(a)
		is.Equal(checked, types)
	}
	is.Equal(stored(), []string{"customer.*", "license.created"})
	save("all")
	is.Equal(stored(), []string{})
}
