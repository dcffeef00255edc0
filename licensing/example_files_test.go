package licensing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// issueFile returns a file for one machine, which holds a seat of the license
// until it expires: after two weeks, or with the license if that is earlier.
func issueFile(ctx context.Context, h *licensing.Handler, licenseID, machine string) (string, error) {
	file, err := h.Service().IssueFile(ctx, api.IssueFileParams{
		LicenseID: licenseID, Fingerprint: machine, Lifetime: api.Duration{Days: 14},
	})
	if err != nil {
		return "", err
	}
	return h.Files().Sign(ctx, *file.FileClaims())
}

// checkFile returns the entitlements of a file that is valid on this machine
// now. The program embeds jwks.
func checkFile(jwks []byte, text, machine string) (map[string]any, error) {
	keys, err := licensefile.ParseKeys(jwks)
	if err != nil {
		return nil, err
	}
	file, err := keys.Verify(text)
	if err != nil {
		return nil, err
	}
	return file.Entitlements, file.Check(licensefile.Expect{ProductID: "atlas", Fingerprint: machine})
}

func ExampleHandler_Files() {
	ctx := context.Background()
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	l, err := h.Service().Create(ctx, api.CreateLicenseParams{
		Name: "Atlas for Ada", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{Entitlements: map[string]any{"export": true}},
	})
	if err != nil {
		log.Fatal(err)
	}
	text, err := issueFile(ctx, h, l.ID, "machine-1")
	if err != nil {
		log.Fatal(err)
	}
	set, err := h.Files().KeySet(ctx)
	if err != nil {
		log.Fatal(err)
	}
	jwks, err := json.Marshal(set) // embed it in the program
	if err != nil {
		log.Fatal(err)
	}

	entitlements, err := checkFile(jwks, text, "machine-1") // in the program, without a network
	fmt.Println(entitlements, err)
	_, err = checkFile(jwks, text, "machine-2")
	fmt.Println(err)
	// Output:
	// map[export:true] <nil>
	// licensefile: for another fingerprint
}
