package settings

import (
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
)

// allEvents is the value of the checkbox for all events.
const allEvents = "all"

// usualTypes are the event types of a new webhook: what happens to licenses and devices.
var usualTypes = []string{"license.*", "activation.*"}

// typesField returns the field for the event types of a webhook. All events and the usual
// types come first, and the others are folded.
func typesField(all bool, types []string) *forms.Field {
	groups := []forms.Choices{{Options: []forms.Option{{Value: allEvents, Label: "All events", Hint: "Including types that later versions add.", Chosen: all}}}}
	known := map[string]bool{}
	for _, c := range forms.EventChoices("") {
		group := forms.Choices{Label: c.Label}
		for _, o := range c.Options {
			if o.Value == api.EventWebhookTest {
				continue
			}
			known[o.Value] = true
			o.Hint, o.Chosen = o.Value, slices.Contains(types, o.Value)
			to := &group
			if slices.Contains(usualTypes, o.Value) {
				to = &groups[0]
			}
			to.Options = append(to.Options, o)
		}
		groups = append(groups, group)
	}
	others := forms.Choices{Label: "Others"}
	for _, t := range types {
		if !known[t] {
			others.Options = append(others.Options, forms.Option{Value: t, Label: t, Chosen: true})
		}
	}
	if len(others.Options) > 0 {
		groups = append(groups, others)
	}
	return &forms.Field{Name: "types", Label: "Events", Type: "checks", Choices: groups, Fold: "Other groups and single types"}
}

// selectedTypes returns the selected event types for a webhook, nil for all
// events, which include the others. If nothing is selected, it adds an error to the form and returns
// a type that the webhook service refuses, so that the service reports its own
// errors in the same response.
func selectedTypes(f *forms.Form) (types []string) {
	for _, c := range f.Field("types").Choices {
		for _, o := range c.Options {
			if o.Chosen {
				types = append(types, o.Value)
			}
		}
	}
	switch {
	case slices.Contains(types, allEvents):
		return nil
	case types == nil:
		f.AddError("types", `select at least one event, or “All events”`)
		return []string{""}
	}
	return types
}
