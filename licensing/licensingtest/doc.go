/*
Package licensingtest helps two kinds of people with their tests.

# A host's tests

[New] makes a licensing service in memory, with a clock that stands still until
it is moved, an API client with a token, and a record of every event:

	func TestCheckout(t *testing.T) {
		kit := licensingtest.New(t, licensing.Options{})
		shop := newShop(kit.Handler.Service()) // the code under test

		shop.sell(t, "atlas", "cus_1")

		page, err := kit.Handler.Service().List(t.Context(), license.ListParams{CustomerID: "cus_1"})
		…
		kit.Clock.Advance(400 * 24 * time.Hour) // and the license has expired
		…
	}

A test that talks HTTP serves kit.Handler with httptest and sends
"Bearer "+kit.Token() as Authorization.

# A backend author's tests

[RunAPI] puts the whole service on a backend and drives it from outside, over a
real listener; [RunService] lets hundreds contend for the seats of a license.
Together with package storetest they are all that a backend needs:

	func TestStore(t *testing.T)   { storetest.Run(t, open) }
	func TestService(t *testing.T) { licensingtest.RunService(t, open) }
	func TestAPI(t *testing.T)     { licensingtest.RunAPI(t, open) }

	func open(t *testing.T) store.Store { return mystore.New() }

storetest is the judge of a backend: it names the rule that is broken. RunAPI
shows that nothing the service does depends on anything else: besides its own
checks it compares every answer with that of store/memory, once ids, keys and
tokens are masked.

The package is for tests only. It uses package testing and nothing else to
report, and registers no flags.
*/
package licensingtest
