package api_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/docs"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestEventTypes: EventTypes returns exactly the constants, in their order, and the comment of
// each says when the event is appended.
func TestEventTypes(t *testing.T) {
	is := is.New(t)
	var types []string
	for _, c := range docs.Constants(t, "eventtype.go", "Event") {
		types = append(types, c.Value)
		is.True(c.Comment != "") // of c.Name
	}
	is.Equal(api.EventTypes(), types)
}
