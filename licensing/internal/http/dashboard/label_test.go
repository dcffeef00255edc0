package dashboard

import (
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// TestAFieldHasOneLabel: a field of a plan or a license has the label of the history in its form,
// and so have facts, which take it from there. The history names one entry of a map.
func TestAFieldHasOneLabel(t *testing.T) {
	for what, form := range map[string]*forms.Form{"plan": planFields(api.Plan{}), "license": licenseForm(api.License{}, time.UTC)} {
		for _, f := range form.Fields {
			want := kit.ChangeLabel(f.Name)
			switch f.Name {
			case "entitlements", "meters":
				want += "s"
			}
			if f.Label != want {
				t.Errorf("%s, %s: the form says %q, the history %q", what, f.Name, f.Label, want)
			}
		}
		if len(form.Fields) < 10 {
			t.Errorf("%s: only %d fields", what, len(form.Fields))
		}
	}
}
