package program_test

import (
	_ "embed"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

//go:embed testdata/keys.json
var keys []byte // curl -o keys.json https://acme.example/licensing/file/keys

// A newcomer's program: it opens its license, and asks before a feature.
func Example() {
	lic, err := program.Open(program.Options{
		URL: "https://acme.example/licensing", Keys: keys, ProductID: "atlas", Key: os.Getenv("ATLAS_KEY"),
	})
	if err != nil {
		log.Fatal(err) // an option is wrong
	}
	defer lic.Close()

	if lic.Has("export") {
		fmt.Println("exporting")
	} else {
		fmt.Println(lic.Status().Message())
	}
}

// A program that never stops because of its license: it shows what is wrong.
func ExampleStatus_Message() {
	lic := program.Fixed(program.Status{Code: program.CodeNoKey}) // in place of Open
	if s := lic.Status(); !s.Valid {
		fmt.Println(s.Message())
	}
	fmt.Println("the program continues")
	// Output:
	// No license key is set; enter one.
	// the program continues
}

// Middleware of a program that serves HTTP.
func ExampleLicense_Has() {
	lic := program.Fixed(program.Status{Valid: true, Entitlements: map[string]any{"export": true}}) // in place of Open
	require := func(entitlement string, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !lic.Has(entitlement) {
				http.Error(w, "This needs a license with "+entitlement+". "+lic.Status().Message(), http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	http.Handle("GET /export", require("export", http.NotFoundHandler()))
	fmt.Println(lic.Has("export"), lic.Has("import"))
	// Output: true false
}
