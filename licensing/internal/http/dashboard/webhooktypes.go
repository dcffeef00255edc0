package dashboard

import (
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// allEvents is the value of the checkbox for all events.
const allEvents = "all"

// typesField returns the field for the event types of a webhook.
func typesField(all bool, types []string) *field {
	groups := []choices{{Options: []option{{Value: allEvents, Label: "All events", Hint: "Including types that later versions add.", Chosen: all}}}}
	known := map[string]bool{}
	for _, c := range eventChoices("") {
		c.Options = slices.DeleteFunc(c.Options, func(o option) bool { return o.Value == api.EventWebhookTest })
		for i := range c.Options {
			o := &c.Options[i]
			known[o.Value] = true
			o.Hint, o.Chosen = o.Value, slices.Contains(types, o.Value)
		}
		groups = append(groups, c)
	}
	others := choices{Label: "Others"}
	for _, t := range types {
		if !known[t] {
			others.Options = append(others.Options, option{Value: t, Label: t, Chosen: true})
		}
	}
	if len(others.Options) > 0 {
		groups = append(groups, others)
	}
	return &field{Name: "types", Label: "Events", Type: "checks", Choices: groups, Hint: "Select all events, whole groups or single types."}
}

// selectedTypes returns the selected event types for a webhook, nil for all
// events. If the selection is invalid, it adds an error to the form and returns
// a type that the webhook service refuses, so that the service reports its own
// errors in the same response.
func (f *form) selectedTypes() (types []string) {
	x, all := f.Field("types"), false
	for _, c := range x.Choices {
		for _, o := range c.Options {
			if o.Chosen && o.Value == allEvents {
				all = true
			} else if o.Chosen {
				types = append(types, o.Value)
			}
		}
	}
	switch {
	case all && types != nil:
		f.addError("types", `clear “All events”, or clear the other events`)
	case !all && types == nil:
		f.addError("types", `select at least one event, or “All events”`)
	default:
		return types
	}
	return []string{""}
}
