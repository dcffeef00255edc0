package operator_test

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A host creates the first admin and invites a colleague.
func Example() {
	ctx := context.Background()
	h := licensing.NewHandler(memory.New(), licensing.Options{})
	operators := h.Operators()

	ada, err := operators.Create(ctx, operator.CreateParams{
		Email: "ada@example.com", Password: "the ferry leaves before breakfast", Role: operator.RoleAdmin,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(ada.Email, "is an", ada.Role)

	code, err := operators.Invite(ctx, operator.InviteParams{Email: "bob@example.com"})
	if err != nil {
		panic(err)
	}
	fmt.Println("Bob enters a code of", len(code), "characters on the dashboard")

	// Output:
	// ada@example.com is an admin
	// Bob enters a code of 26 characters on the dashboard
}
