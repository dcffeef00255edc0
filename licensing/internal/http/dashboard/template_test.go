package dashboard

import "testing"

// TestTemplates parses all pages, which a server does when it first shows them.
func TestTemplates(t *testing.T) {
	for name, page := range templates {
		if page().Lookup("layout.html") == nil {
			t.Errorf("%s has no layout", name)
		}
	}
}
