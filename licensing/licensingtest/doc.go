/*
Package licensingtest supports the tests of applications that mount the service,
and of store implementations.

[New] returns an in-memory licensing service with a clock that the test controls,
an API client with a token, and access to every event:

	func TestExpiry(t *testing.T) {
		kit := licensingtest.New(t, licensing.Options{})
		sell(t, kit.Handler.Service(), "cus_1") // the code under test
		kit.Clock.Advance(400 * 24 * time.Hour)
		page, err := kit.Handler.Service().List(t.Context(), api.ListLicensesParams{CustomerID: "cus_1"})
		if err != nil || page.Data[0].Status != api.LicenseExpired {
			t.Error(page, err)
		}
	}

To test over HTTP, serve kit.Handler with httptest and send the header
"Authorization: Bearer " + kit.Token().

Handler.Run of the kit delivers events immediately, but looks for expiry notices only
when it begins and then every five minutes of real time: move the clock between two
calls. The first one of a store gives no notices that were due before it.

# Testing a shipped program

[NewVendor] returns a service that fails on demand, for programs that use
package licensing/program. In a bubble of testing/synctest, weeks pass in no
time:

	func TestOutage(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			vendor := licensingtest.NewVendor(t)
			lic, err := program.Open(program.Options{
				URL: licensingtest.VendorURL, HTTPClient: vendor.HTTPClient(), Keys: vendor.Keys(t), …
			})
			…
			vendor.Die()
			time.Sleep(72 * time.Hour)
			…
			lic.Close()
		})
	}

# Testing a store

[RunAPI] tests the whole service on a store over HTTP; [RunService] tests
concurrent activations. Together with package storetest they cover everything
that a store must do:

	func TestStore(t *testing.T)   { storetest.Run(t, open) }
	func TestService(t *testing.T) { licensingtest.RunService(t, open) }
	func TestAPI(t *testing.T)     { licensingtest.RunAPI(t, open) }

	func open(t *testing.T) store.Store { return mystore.New() }

Package storetest reports which rule of the store contract is broken. RunAPI
shows that the service behaves the same on every store: it also compares every
response with that of store/memory, with IDs, keys and tokens masked.

The package is for tests only. It reports through package testing and registers
no flags.
*/
package licensingtest
