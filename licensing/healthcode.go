package licensing

// A HealthCode is the kind of a [HealthProblem].
type HealthCode string

// The codes of problems, in the order of Health.Problems. docs/errors.md lists them: the first
// paragraph of a comment says what a problem means, the second one what to do.
const (
	// The store does not answer, and GET /ready is 503. Then only the three problems below are
	// known.
	//
	// Look at the disk or the database. Requests succeed again when it does.
	HealthStore HealthCode = "store_unavailable"

	// The store found damaged data, such as a corrupt page of a SQLite file. GET /ready is 503
	// until the process starts again.
	//
	// Stop the process, look at the disk, and restore a backup if `licensekit check` finds damage.
	HealthDamaged HealthCode = "store_damaged"

	// Changes in this process fail because of the store, although reads may work: a full disk, a
	// read-only file, or a database that is a standby after a failover. GET /ready stays 200.
	//
	// Make room, or connect to the primary. Handler.Run tries a write every ten seconds. The
	// problem ends when one succeeds and none has failed for a minute.
	HealthWrites HealthCode = "writes_failing"

	// In the last minute this process answered a request with 500, because of an error that it
	// does not expect: a missing permission or table, a record that cannot be decoded, or a panic.
	// GET /ready stays 200.
	//
	// The problem names the last error, and the log has each one with its request_id. Restore the
	// permission or the table; report a panic.
	HealthRequests HealthCode = "requests_failing"

	// What a payment provider reports to this process fails: once with a state that is unknown or
	// with what the service refuses for good, or three times with another error, and has not
	// passed since. GET /ready stays 200.
	//
	// The problem names the newest reason, and the log has each error. Name the meaning of a new
	// state in States of the provider. It ends when the event passes, or after a Sync without an
	// error.
	HealthPayment HealthCode = "payment_failing"

	// A job of Handler.Run in this process keeps failing, not because of the store, or panics.
	// Other jobs and requests continue. GET /ready stays 200.
	//
	// The problem names the job and its last error, and the log has the stack of a panic: report
	// it. The job continues where it stopped. Work on one license that fails is tried again in an
	// hour, and delays no other.
	HealthJob HealthCode = "job_failing"

	// Counting what was sold failed ten times in a row and then on one event alone, which was
	// passed: the numbers of sales lack it.
	//
	// The problem has the number of such events and the ID of the first, and the log the error of
	// each: report it. To count again, stop Handler.Run in all processes and delete the entries of
	// the kinds sales, sales_counted, sales_end, sales_license and near. Only events that are
	// still kept are counted.
	HealthUncounted HealthCode = "events_uncounted"

	// No process has run Handler.Run for more than an hour, or ever.
	//
	// Start it next to a server.
	HealthNotRunning HealthCode = "not_running"

	// Events or deliveries have waited for more than a minute.
	//
	// Look at subscribers, which names the one that is behind. If it is gone for good, its
	// position is no longer needed.
	HealthOverdue HealthCode = "work_overdue"

	// A subscriber keeps failing on one event, and later events wait.
	//
	// last_error and the log have the error. Let Handle return nil for what can never succeed, or
	// set Subscriber.MaxAttempts.
	HealthSubscriber HealthCode = "subscriber_failing"

	// A subscriber gave up on events after Subscriber.MaxAttempts.
	//
	// Handler.DeadLetters lists them. When the cause is fixed, call Handler.RetryDeadLetter.
	HealthDeadLetters HealthCode = "dead_letters"

	// Every delivery to a webhook fails.
	//
	// Tell its owner. After five days it is disabled.
	HealthWebhookFailing HealthCode = "webhook_failing"

	// A webhook failed for five days, or answered 410.
	//
	// Activate it when the receiver is back, or delete it.
	HealthWebhookDisabled HealthCode = "webhook_disabled"

	// The stored position of a subscriber or a webhook is above the newest event: the feed has
	// lost events without it, and it skips the new ones with their numbers.
	//
	// Restore a backup whole. Then pause a webhook and activate it with "resume_from": "now", and
	// rename a subscriber.
	HealthPositionAhead HealthCode = "position_ahead"

	// Webhook secrets or the keys of license files are encrypted with another Options.MasterKey.
	//
	// Add that key to Options.PreviousMasterKeys, or rotate the secrets if it is lost.
	HealthSecretsUnreadable HealthCode = "secrets_unreadable"

	// Webhook secrets or the keys of license files are stored in plain text.
	//
	// Set Options.MasterKey, and call Handler.ReencryptSecrets.
	HealthSecretsClear HealthCode = "secrets_unencrypted"

	// Events are kept a day longer than Options.Events.Retention.
	//
	// See not_running, work_overdue and dead_letters, whose events are kept.
	HealthRetention HealthCode = "retention_overdue"

	// A revocation list was signed with a clock more than a day ahead. Programs refuse it.
	//
	// Correct the clock of that process. Later lists start from the present time, and the problem
	// ends a day after.
	HealthListAhead HealthCode = "list_ahead"

	// A revocation list is half full. From 80,000 licenses on, only the lists of single licenses
	// are signed.
	//
	// Nothing, if your programs use a licensing/program that asks for those. Otherwise release a
	// build, and give files shorter lifetimes.
	HealthListLarge HealthCode = "list_large"

	// The license file of this office ends within 30 days, or has ended. If it lasts less than 60
	// days: 7 days before, and a day before if less than 14.
	//
	// Take a request of the office to the vendor, and install the answer.
	HealthOfficeEnding HealthCode = "office_ending"
)
