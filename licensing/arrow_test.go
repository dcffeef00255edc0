package licensing_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
)

const module = "github.com/seed-d8a106b4/licensekit"

// arrows is the house: which package may import which other of ours, in
// files that are not tests. Where none is named, only the standard library
// and other modules remain.
var arrows = map[string][]string{
	"store":                           {},
	"store/memory":                    {"store"},
	"store/sqlite":                    {"store"},
	"store/postgres":                  {"store"},
	"storetest":                       {"store", "storetest/internal/patience", "storetest/internal/pick"},
	"storetest/internal/mutants":      {}, // tests only
	"storetest/internal/patience":     {},
	"storetest/internal/pick":         {"store"},
	"internal/hashcost":               {},
	"internal/inner":                  {"store"},
	"internal/signin":                 {},
	"internal/testing/docs":           {},                                                                   // tests only
	"internal/testing/oracle":         {"store", "store/memory"},                                            // tests only
	"internal/testing/fakestripe":     {},                                                                   // tests only
	"internal/testing/purchasetest":   {"licensing/api", "licensing/license", "licensing/selling", "store"}, // tests only
	"internal/bidi":                   {},
	"internal/entries":                {"store"},
	"internal/qr":                     {},
	"internal/dates":                  {},
	"internal/keytext":                {},
	"internal/rate":                   {},
	"internal/testing/require":        {}, // tests only
	"internal/testing/smtpsink":       {}, // tests only
	"internal/testing/translation":    {}, // tests only
	"internal/rotation":               {},
	"internal/texts":                  {},
	"internal/version":                {},
	"internal/valid":                  {}, // for the tags of parameters and options
	"auth":                            {"licensing/api", "internal/entries", "internal/inner", "store", "internal/rate", "internal/rotation", "internal/valid"},
	"auth/internal/loopback":          {},
	"auth/operator":                   {"internal/signin", "licensing/api", "store", "auth", "internal/rate", "internal/hashcost", "internal/entries", "auth/internal/loopback", "internal/seal", "internal/inner", "internal/valid"},
	"licensing/api":                   {"internal/version"},
	"licensing/internal/base/input":   {"internal/valid", "licensing/api"},
	"internal/seal":                   {"internal/entries", "store"},
	"licensing/internal/base/csvfile": {},
	"licensing/internal/base/outbox":  {"store"},
	"licensing/internal/base/record":  {"licensing/api", "store"},
	"licensing/internal/rules/terms":  {"licensing/api"},

	"licensing/internal/base/feed":               {"store", "licensing/api", "internal/entries"},
	"licensing/internal/rules/call":              {"internal/entries", "internal/keytext", "internal/valid", "licensing/api", "licensing/internal/base/feed", "licensing/internal/base/input", "licensing/internal/base/record", "store", "licensing/internal/rules/terms", "licensing/licensefile"},
	"licensing/internal/rules/plans":             {"internal/entries", "internal/valid", "licensing/api", "licensing/internal/base/record", "licensing/internal/rules/call", "store", "licensing/internal/rules/terms"},
	"licensing/internal/rules/revocations":       {"internal/entries", "licensing/api", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/licensefile", "store"},
	"licensing/internal/rules/licenses":          {"internal/entries", "internal/keytext", "licensing/api", "licensing/internal/base/feed", "licensing/internal/base/input", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/plans", "store", "licensing/internal/rules/terms", "licensing/internal/rules/revocations"},
	"licensing/internal/rules/holds":             {"licensing/api", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/licenses", "store"},
	"licensing/internal/rules/meters":            {"licensing/internal/base/input", "internal/entries", "internal/valid", "licensing/api", "licensing/internal/base/feed", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/licenses", "store", "licensing/internal/rules/terms"},
	"licensing/internal/rules/seats":             {"internal/entries", "internal/valid", "licensing/api", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/licenses", "licensing/internal/rules/meters", "licensing/licensefile", "store", "licensing/internal/rules/terms", "licensing/internal/rules/revocations"},
	"licensing/internal/rules/link":              {"licensing/api", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/licenses", "licensing/internal/rules/seats", "store"},
	"licensing/internal/rules/purchases":         {"internal/valid", "licensing/api", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/licenses", "licensing/internal/rules/plans", "store", "licensing/internal/rules/terms", "internal/entries"},
	"licensing/internal/rules/notices":           {"licensing/api", "licensing/internal/base/feed", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/licenses", "licensing/internal/rules/terms", "store"},
	"licensing/internal/rules/find":              {"internal/entries", "internal/valid", "licensing/api", "licensing/internal/base/feed", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/licenses", "licensing/internal/rules/meters", "licensing/internal/rules/purchases", "licensing/internal/rules/seats", "licensing/internal/rules/terms", "store"},
	"licensing/internal/rules/refusals":          {"internal/entries", "internal/valid", "licensing/api", "licensing/internal/base/feed", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/find", "licensing/internal/rules/licenses", "licensing/internal/rules/meters", "licensing/internal/rules/seats", "store"},
	"licensing/internal/rules/sales":             {"internal/entries", "licensing/api", "licensing/internal/base/feed", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/find", "licensing/internal/rules/licenses", "licensing/internal/rules/purchases", "store"},
	"licensing/internal/rules/leave":             {"internal/entries", "licensing/api", "licensing/internal/base/feed", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/licenses", "licensing/internal/rules/link", "licensing/internal/rules/meters", "licensing/internal/rules/plans", "licensing/internal/rules/purchases", "licensing/internal/rules/refusals", "licensing/internal/rules/seats", "store", "licensing/internal/rules/holds", "licensing/internal/rules/revocations"},
	"licensing/internal/rules/movein":            {"internal/dates", "licensing/api", "licensing/internal/base/csvfile", "licensing/internal/base/input", "licensing/internal/base/record", "licensing/internal/rules/call", "licensing/internal/rules/find", "licensing/internal/rules/leave", "licensing/internal/rules/licenses", "licensing/internal/rules/purchases", "licensing/licensefile", "store", "licensing/internal/rules/holds", "licensing/internal/rules/revocations"},
	"licensing/license":                          {"licensing/api", "licensing/internal/base/failing", "licensing/licensefile", "internal/entries", "store", "licensing/internal/base/feed", "internal/inner", "licensing/internal/rules/call", "licensing/internal/rules/plans", "licensing/internal/rules/licenses", "licensing/internal/rules/seats", "licensing/internal/rules/purchases", "licensing/internal/rules/notices", "licensing/internal/rules/find", "licensing/internal/rules/refusals", "licensing/internal/rules/leave", "licensing/internal/rules/movein", "licensing/internal/rules/meters", "licensing/internal/rules/sales", "licensing/internal/rules/link", "licensing/internal/rules/holds", "licensing/internal/rules/revocations"},
	"licensing/internal/base/failing":            {},
	"licensing/selling":                          {"internal/inner", "licensing/api", "licensing/internal/base/failing", "licensing/license"},
	"licensing/payment":                          {"internal/inner", "internal/rate", "internal/valid", "licensing/api", "licensing/selling"},
	"licensing/metering":                         {"internal/inner", "licensing/api", "licensing/license"},
	"licensing/webhook":                          {"internal/version", "licensing/api", "internal/entries", "internal/rotation", "internal/seal", "internal/valid", "store", "licensing/license", "licensing/internal/base/input", "licensing/internal/base/feed", "licensing/internal/base/outbox", "internal/inner", "licensing/internal/base/record"},
	"licensing/internal/http/web":                {"internal/signin", "internal/inner", "licensing/internal/base/feed", "internal/rate", "licensing/api", "licensing/licensefile", "licensing/license", "licensing/internal/base/input", "licensing/internal/base/record", "auth", "auth/operator", "store"}, // of store, the errors in the table of answers
	"licensing/internal/http/endpoints":          {"internal/rate", "licensing/api", "licensing/license", "licensing/webhook", "licensing/internal/base/input", "auth", "licensing/internal/http/web", "internal/inner", "licensing/selling", "licensing/metering"},
	"licensing/internal/http/dashboard/kit":      {"internal/dates", "auth", "auth/operator", "internal/bidi", "internal/inner", "internal/rate", "internal/signin", "licensing/api", "licensing/files", "licensing/internal/base/feed", "licensing/internal/base/input", "licensing/internal/http/web", "licensing/license", "licensing/selling", "licensing/webhook"},
	"licensing/internal/http/dashboard/forms":    {"internal/dates", "auth/operator", "internal/inner", "internal/signin", "licensing/api", "licensing/internal/http/dashboard/kit", "licensing/license"},
	"licensing/internal/http/dashboard/people":   {"auth", "auth/operator", "internal/inner", "internal/qr", "internal/signin", "licensing/api", "licensing/internal/http/dashboard/forms", "licensing/internal/http/dashboard/kit", "licensing/internal/http/web", "licensing/selling"},
	"licensing/internal/http/dashboard/settings": {"internal/version", "auth", "internal/inner", "licensing/api", "licensing/files", "licensing/internal/base/feed", "licensing/internal/http/dashboard/forms", "licensing/internal/http/dashboard/kit", "licensing/internal/http/web", "licensing/webhook"},
	"licensing/internal/http/dashboard/audit":    {"auth/operator", "internal/inner", "licensing/api", "licensing/internal/base/csvfile", "licensing/internal/base/feed", "licensing/internal/http/dashboard/forms", "licensing/internal/http/dashboard/kit", "licensing/internal/http/web", "licensing/internal/rules/sales"},
	"licensing/internal/http/dashboard":          {"internal/dates", "auth", "auth/operator", "internal/inner", "internal/signin", "licensing/api", "licensing/internal/base/csvfile", "licensing/internal/base/input", "licensing/internal/http/dashboard/audit", "licensing/internal/http/dashboard/forms", "licensing/internal/http/dashboard/kit", "licensing/internal/http/dashboard/people", "licensing/internal/http/dashboard/settings", "licensing/internal/http/web", "licensing/internal/rules/sales", "licensing/license", "licensing/selling"},
	"licensing/internal/http/portal":             {"internal/bidi", "internal/dates", "licensing/api", "licensing/internal/rules/call", "licensing/internal/rules/terms", "licensing/license", "licensing/licensefile", "licensing/internal/http/web", "internal/inner", "licensing/selling"},
	"licensing/internal":                         {}, // the map of the code
	"licensing/internal/servicetest":             {}, // tests only

	"licensing":               {"internal/texts", "licensing/api", "internal/rate", "internal/valid", "licensing/license", "licensing/files", "licensing/licensefile", "licensing/webhook", "licensing/internal/http/web", "licensing/internal/http/endpoints", "licensing/internal/http/dashboard", "licensing/internal/http/dashboard/kit", "licensing/internal/http/portal", "licensing/internal/base/feed", "auth", "auth/operator", "store", "internal/inner", "licensing/selling", "licensing/metering"},
	"licensing/licensefile":   {"internal/keytext"},
	"licensing/files":         {"licensing/api", "internal/seal", "licensing/licensefile", "auth", "store", "internal/inner"},
	"licensing/client":        {"internal/version", "licensing/api"},
	"licensing/program":       {"internal/dates", "internal/version", "licensing/api", "licensing/licensefile"},
	"licensing/licensingtest": {"licensing/api", "licensing", "licensing/internal/base/record", "licensing/licensefile", "licensing/license", "auth", "store", "store/memory", "internal/inner"},
	"licensing/mail":          {"internal/texts", "internal/bidi", "internal/entries", "internal/inner", "internal/rate", "licensing", "licensing/api", "licensing/internal/base/feed", "licensing/internal/rules/call", "licensing/license", "store"},
	"example/internal/host":   {"internal/bidi", "example/internal/serving", "licensing/api", "licensing/mail", "licensing", "licensing/license", "licensing/webhook", "licensing/client", "auth", "auth/operator", "store", "store/memory", "licensing/selling"},
	"example":                 {"example/internal/host", "store/sqlite"},
	"example/internal/admin":  {"example/internal/settings", "internal/inner", "licensing/api", "auth", "auth/operator", "licensing/license", "licensing/files", "licensing/licensefile", "store", "store/sqlite", "licensing", "licensing/selling"},

	"example/internal/configfile": {},
	"example/internal/payment":    {"licensing/api", "licensing/selling"},
	"example/internal/process":    {"licensing/api"}, // for tests only
	"example/internal/serving":    {},
	"example/internal/settings":   {"internal/texts", "example/internal/configfile", "licensing", "licensing/api", "licensing/mail", "licensing/payment", "licensing/selling"},
	"example/program":             {"licensing/program"},
}

// pure are the packages that import nothing but the standard library and each
// other, so that their importers import nothing else.
var pure = []string{"store", "store/memory", "store/postgres", "storetest", "storetest/internal/patience", "storetest/internal/pick", "licensing/api", "licensing/licensefile", "licensing/client", "licensing/program"}

// goList runs go list -json and hands each package to use.
func goList(t *testing.T, use func(p goPackage), args ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("go list takes a second")
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json=ImportPath,Imports"}, args...)...)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		use(p)
	}
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func TestPackagesImportOnlyAlongTheArrows(t *testing.T) {
	goList(t, func(p goPackage) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		allowed, known := arrows[name]
		if !known {
			t.Errorf("package %q is missing from the table of arrows", name)
			return
		}
		for _, imported := range p.Imports {
			other, ours := strings.CutPrefix(imported, module+"/")
			if ours && !slices.Contains(allowed, other) {
				t.Errorf("%s imports %s, to which no arrow leads", name, other)
			}
			if strings.HasPrefix(other, "internal/testing/") {
				t.Errorf("%s imports %s, which is for tests only", name, other)
			}
			if !ours && slices.Contains(pure, name) && strings.Contains(imported, ".") {
				t.Errorf("%s imports %s, and may only use the standard library", name, imported)
			}
		}
	}, "./...")
}

func TestTheModuleRequiresLittle(t *testing.T) {
	is := is.New(t)
	if testing.Short() {
		t.Skip("go mod edit takes a moment")
	}
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = ".."
	out, err := cmd.Output()
	is.NoErr(err)
	var mod struct {
		Go      string
		Require []struct {
			Path     string
			Version  string
			Indirect bool
		}
		Toolchain string
		Replace   []any
	}
	is.NoErr(json.Unmarshal(out, &mod))
	is.Equal(mod.Go, "1.26.0")
	is.Equal(mod.Toolchain, "")
	is.Equal(len(mod.Replace), 0)
	guide, err := os.ReadFile("docs/versions.md")
	is.NoErr(err)
	allowed := []string{
		"github.com/alexedwards/scs/v2", "github.com/go-playground/validator/v10", "github.com/matryer/is",
		"golang.org/x/crypto", "golang.org/x/text", "modernc.org/sqlite",
	}
	for _, r := range mod.Require {
		if r.Indirect {
			continue
		}
		if !slices.Contains(allowed, r.Path) {
			t.Errorf("go.mod requires %s: every host would inherit it", r.Path)
		}
		if !bytes.Contains(guide, []byte("| `"+r.Path+"` |")) {
			t.Errorf("docs/versions.md does not say what %s is for", r.Path)
		}
		if r.Path == "modernc.org/sqlite" {
			is.Equal(r.Version, "v1.60.1") // later versions do not tidy
		}
	}
}
