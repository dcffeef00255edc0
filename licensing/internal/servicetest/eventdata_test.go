package servicetest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// eventData is what openapi.source.json says of the data of events, by type.
var eventData = sync.OnceValue(func() (described map[string]struct{ Always, Sometimes []string }) {
	var source struct{ Webhooks any }
	source.Webhooks = &described
	text, err := os.ReadFile(filepath.Join("..", "http", "endpoints", "openapi.source.json"))
	if err == nil {
		err = json.Unmarshal(text, &source)
	}
	if err != nil {
		panic(err)
	}
	return described
})

// checkEvents compares the data of every event of a service with its description.
func checkEvents(t testing.TB, h *licensing.Handler) {
	t.Helper()
	for e, err := range h.Service().AllEvents(context.WithoutCancel(t.Context()), api.ListEventsParams{}) {
		if err != nil {
			return // the store of this test fails
		}
		var data map[string]json.RawMessage
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		described, there := eventData()[e.Type]
		if !there || data["erased"] != nil { // a test can store types of its own
			continue
		}
		strict := json.NewDecoder(bytes.NewReader(e.Data))
		strict.DisallowUnknownFields()
		if err := strict.Decode(new(api.EventData)); err != nil {
			t.Errorf("%s: api.EventData cannot decode %s: %v", e.Type, e.Data, err)
		}
		for _, name := range described.Always {
			if data[name] == nil {
				t.Errorf("%s has no %s, which its description says it always has: %s", e.Type, name, e.Data)
			}
		}
		for name := range data {
			if !slices.Contains(described.Always, name) && !slices.Contains(described.Sometimes, name) {
				t.Errorf("%s has %s, which its description lacks: %s", e.Type, name, e.Data)
			}
		}
	}
}
