/*
Package internal is the map of the code, for contributors. It has no code.

	auth/                    who may call: clients, tokens, host routes; operator/: operators, sessions, second factors
	licensing/               the front door: NewHandler, Options, Handler
	  api/                   the words: types, errors, event types and problem codes that Go and HTTP share
	  license/               the door to licenses: one Service; Atomically, Once, As and Customer are its own
	  selling/               the door to plans, purchases and trials
	  payment/               what payment providers report, into selling: Stripe, Paddle, Polar, Lemon Squeezy
	  metering/              the door to usage
	  webhook/ files/        doors with their records beside them: deliveries; signing keys and license files
	  mail/                  keys by mail, and customers who sign in by a mailed link
	  licensefile/           the format of a license file, and its verifier
	  client/ program/       what callers build in: a client of the API; the license of a program
	  licensingtest/         a service for your tests
	  internal/rules/        what the doors forward to, one room for each question:
	    call/                who calls, on which store, when, in which Update; checks, events, cursors, replies of Once
	    plans/               what is a license made from?
	    revocations/         which license files are refused before they expire?
	    licenses/            what is a license, how does it change, by hand and by time? leases
	    holds/               which customers are suspended?
	    meters/              how much has been used? reports of usage, periods, limits, counts, events
	    seats/               may this program run? verdict, activation, take-over, holds, issuing a file
	    link/                how does a program get its license without a typed key? links, their codes, approval
	    purchases/           what has the customer bought? events of payments, trials, applying a plan
	    find/                which ones? lists, search, counts, devices, the event feed
	    refusals/            what was refused, and how much was asked?
	    notices/             what ends soon?
	    sales/               what was sold? numbers of days, counted from the feed; who is due, and near the limit
	    terms/               what do the purchases of a license make of it, at an instant? pure: no store, no clock
	    leave/               how does something go? deletion, transfer, correction, erasure: one list, traces.go
	    movein/              how does it come and go as a file? NDJSON and CSV
	  internal/http/         web: requests and answers; endpoints: the route table; dashboard, portal
	  internal/servicetest/  tests of the whole service, over HTTP and through Go
	  internal/base/         below the rules: record (stored forms), input, csvfile, feed, outbox, failing
	store/                   the contract; memory/ sqlite/ postgres/ keep it, storetest/ checks it

An arrow goes down this list, never up; TestPackagesImportOnlyAlongTheArrows has them all.

# Three requests, from the route to the row

Create: endpoints/routes.go → web/once.go, where Options.BeforeCreate runs before the Update →
license.Service.Create → rules/licenses/create.go, with rules/plans/fill.go → base/record →
Tx.CreateLicenses, and the event in the same Update.

Validate: routes.go → license.Service.Validate → rules/seats/validate.go: on a Reader, verdict.go
finds every reason; only the renewal of a lease and the issue of a file write. A refusal goes to
rules/refusals/pending.go.

Activate: routes.go → license.Service.Activate → rules/seats/activate.go: on a Reader, what the
license itself forbids, and an activation that stores nothing; else in one Update admission.go
decides, still on a Reader, and writes → Tx.PutActivations, and the event.

# Budgets

In store calls that tests count, a first activation that starts a license has 9 reads and 6
writes, another new one 6 and 3, one with a file 5 and 5, and an unknown key 1 read, or up to 4 if
it could be that of another system. A repeated activation has 3 reads and no Update; a validation
has 2 in a View. A change of name and metadata alone reads no purchase. A step that adds a call
says in its commit what it is for.

# Rooms for the pages

http/dashboard is kit (a visit, the frame of a page, lists, words for events), forms on it,
people, settings and audit on both, and dashboard: routes, and everything about licenses,
customers and sales. An arrow goes down this list, and there is none between people, settings and
audit. A page stands in the room of its record, with its template.

# Components of the pages

Each stands once in kit/static/app.css and, where it has markup of its own, once in a template of
kit/templates/shared. No page has a rule of its own: what is missing is added there.

	strip          figures in one box, each with a label, the change against the period before, a line
	rows           icon or name, subject, and the action at the right: what needs attention, set-up, facts
	table          a list of records; its rows are cards on a phone. In-page tables are plain or figures
	chip           a filter: dashed while it filters nothing
	segments       the choice of a period, in the head. Tabs are parts of one record, with counts
	card, note     a box with a heading; alarm has a red edge. A note says what has happened
	form           fields with label, hint and error; More hides what is seldom set
	chart, spark   drawn by the server as SVG, with a table or numbers beside it
	life           the time of a license from start to end

Colors and sizes are the tokens of :root, and TestContrast checks them in both themes. A field has
one label, kit.ChangeLabel, in forms, facts and histories.
*/
package internal
