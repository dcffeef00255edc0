package licensing_test

import (
	"crypto"
	"crypto/ed25519"
	"fmt"
	"log"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func newOffice(st store.Store, key crypto.Signer, answer string) *licensing.Handler {
	return licensing.NewHandler(st, licensing.Options{
		SigningKeys: []files.SigningKey{{Signer: key, Office: answer}},
	})
}

// An office lends the seats of a license on a network without internet. An administrator
// takes its request to the vendor, and the answer back.
func Example_office() {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	request, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: 25, KeyHash: licensefile.KeyHash("the license key")}, key)
	if err != nil {
		log.Fatal(err)
	}
	read, err := licensefile.ParseOfficeRequest(request) // as the vendor does
	fmt.Println(read.Seats, err)

	defer func() { fmt.Println(recover()) }()
	newOffice(memory.New(), key, request) // not the answer
	// Output:
	// 25 <nil>
	// licensing: Options.SigningKeys[0].Office must be the vendor's answer to the request of an office with this key: licensefile: malformed: "jti" is missing
}
