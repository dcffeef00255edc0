/*
Package metering counts usage of what licenses include, such as exports or API calls. Its
[Service] is Handler.Metering of package licensing:

	u, err := h.Metering().CountUsage(ctx, api.CountUsageParams{
		Key: "8X2KQ-…", Usage: []api.UsageReport{{Meter: "exports", ID: "request 1001", Total: 1}},
	})
	if err != nil {
		return err // with api.ErrUsageLimit: no export is left
	}
	fmt.Println(*u.Meters[0].Remaining)

A license has meters, with a limit and a period: see [api.Meter]. A report says how much has
been used so far under an ID: see [api.UsageReport]. Repeat a report until it is answered; it
counts once.

A limit of k that is not soft admits exactly k units of reports without At, however many
calls and processes report concurrently: each call checks and counts in one Update.

A Service acts for the Caller of a [license.Service], with the same checks and events, and
[Service.In] makes its calls part of an Update of that. Errors are those of package api.
*/
package metering
