package dashboard

import (
	"html/template"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// TestTemplates parses all pages, which a server does when it first shows them.
func TestTemplates(t *testing.T) {
	for name, page := range kit.Templates {
		if page().Lookup("layout.html") == nil {
			t.Errorf("%s has no layout", name)
		}
	}
}

func TestBreakable(t *testing.T) {
	is.New(t).Equal(kit.Breakable(`ada.lovelace@analytical.example<b>`), template.HTML(`ada.<wbr>lovelace@<wbr>analytical.<wbr>example&lt;b&gt;`))
}
