package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A welcome is the message that the example prints when it is ready.
type welcome struct {
	Base        string // the address of the service, without a slash at the end
	Database    *Database
	Fresh       bool // whether the database was new
	Seeded      bool // whether it got the sample licenses
	Credentials *credentials
	SetupCode   string // for the first admin; empty: an operator exists
}

// print writes the welcome in one piece.
func (w welcome) print(out io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n  application     %s/\n", strings.TrimSuffix(w.Base, mount))
	fmt.Fprintf(&b, "  base address    %s\n", w.Base)
	fmt.Fprintf(&b, "  database        %s\n", strings.ReplaceAll(w.Database.About, "\n", "\n                  "))
	if w.Seeded {
		fmt.Fprintf(&b, "  licenses        %d, to look around\n", seedLicenses)
	}
	if w.SetupCode != "" {
		fmt.Fprintf(&b, "  dashboard       %s/dashboard/setup#code=%s\n", w.Base, w.SetupCode)
		fmt.Fprintf(&b, "                  open it within 30 minutes to become the first admin\n")
	} else {
		fmt.Fprintf(&b, "  dashboard       %s/dashboard/\n", w.Base)
	}
	if c := w.Credentials; c != nil {
		fmt.Fprintf(&b, "  client_id       %s\n", c.ID)
		fmt.Fprintf(&b, "  client_secret   %s\n", c.Secret)
		fmt.Fprintf(&b, "\nYou won't be able to see the secret again. Paste into another shell: get a\ntoken, create a license, get it, list its customer's licenses.\n\n")
		for _, line := range w.curlLines() {
			fmt.Fprintf(&b, "%s\n", line)
		}
	} else {
		fmt.Fprintf(&b, "\nSecrets are shown once, when they are issued. To issue another:\n\n")
		fmt.Fprintf(&b, "  %s -new-client NAME\n", w.Database.Again)
		fmt.Fprintf(&b, "  %s -new-client NAME -products a,b   # limited to products\n", w.Database.Again)
	}
	fmt.Fprintf(&b, "\nCtrl-C stops it.\n")
	_, err := b.WriteTo(out)
	return err
}

// curlLines are four commands for one shell, in this order: each uses what
// those before it have left in a variable.
func (w welcome) curlLines() []string {
	c := w.Credentials
	body, _ := json.Marshal(struct { // strings cannot fail to encode
		Name       string `json:"name"`
		ProductID  string `json:"product_id"`
		CustomerID string `json:"customer_id"`
	}{"My first license", c.Product, seedCustomers[0]})
	return []string{
		fmt.Sprintf(`TOKEN=$(curl -sS -u %s:%s -d grant_type=client_credentials %s/oauth/token | sed 's/.*"access_token": *"\([^"]*\)".*/\1/'); echo "$TOKEN"`, c.ID, c.Secret, w.Base),
		fmt.Sprintf(`LICENSE=$(curl -sS -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d %s %s/license); echo "$LICENSE"`, ShellQuote(string(body)), w.Base),
		fmt.Sprintf(`curl -sS -H "Authorization: Bearer $TOKEN" %s/license/$(echo "$LICENSE" | sed 's/.*"id": *"\([^"]*\)".*/\1/')`, w.Base),
		fmt.Sprintf(`curl -sS -H "Authorization: Bearer $TOKEN" '%s/license?customer_id=%s'`, w.Base, seedCustomers[0]),
	}
}

// ShellQuote writes s as one word of a POSIX shell.
func ShellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
