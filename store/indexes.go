/*
# Indexes

A list reads what it returns and little more, however much the store holds. A
backend needs an index for each of these shapes of queries. The plan tests of
store/sqlite and store/postgres check that each is served by its index.

	shape                                           index, in order
	License                                         license: id, unique
	LicenseByKey                                    license: key, unique
	Licenses                                        license: id
	Licenses: IDs                                   license: id
	Licenses: CustomerID                            license: customer_id, id
	Licenses: CustomerID, ProductID                 license: customer_id, product_id, id
	Licenses: ProductID                             license: product_id, id
	Licenses: ProductID, State                      license: product_id, state, id; those not active
	Licenses: State                                 license: state, id
	Licenses: ByExpiresAt                           license: expires_at, id; those that have it
	Licenses: ByExpiresAt, State                    license: state, expires_at, id; those that have it, not active
	Licenses: ByExpiresAt, ProductID                license: product_id, expires_at, id; those that have it
	Licenses: ByStartsAt                            license: starts_at, id; those that have it
	Licenses: ByStartsAt, ProductID                 license: product_id, starts_at, id; those that have it
	FindLicenses                                    license: id
	FindLicenses: CustomerID                        license: customer_id, id
	FindLicenses: CustomerID, ProductID             license: customer_id, product_id, id
	FindLicenses: ProductID                         license: product_id, id
	FindLicenses: ProductID, State                  license: product_id, state, id; those not active
	FindLicenses: State                             license: state, id
	FindLicenses: ByExpiresAt                       license: expires_at, id; those that have it
	FindLicenses: ByExpiresAt, State                license: state, expires_at, id; those that have it, not active
	FindLicenses: ByExpiresAt, ProductID            license: product_id, expires_at, id; those that have it
	FindLicenses: ByStartsAt                        license: starts_at, id; those that have it
	FindLicenses: ByStartsAt, ProductID             license: product_id, starts_at, id; those that have it
	CountLicenses                                   license: id
	CountLicenses: CustomerID                       license: customer_id, id, state
	CountLicenses: CustomerID, ProductID            license: customer_id, product_id, id, state
	CountLicenses: ProductID                        license: product_id, id, state
	CountLicenses: ProductID, State                 license: product_id, state, id; those not active
	CountLicenses: State                            license: state, id
	CountLicenses: ByExpiresAt                      license: expires_at, id, state; those that have it
	CountLicenses: ByExpiresAt, State               license: state, expires_at, id; those that have it, not active
	CountLicenses: ByExpiresAt, ProductID           license: product_id, expires_at, id, state; those that have it
	CountLicenses: ByStartsAt                       license: starts_at, id, state; those that have it
	CountLicenses: ByStartsAt, ProductID            license: product_id, starts_at, id, state; those that have it
	LicenseNames: ByCustomer                        license: customer_id, id
	LicenseNames: ByProduct                         license: product_id, id
	Activation                                      activation: fingerprint, license_id, unique
	Activations: FingerprintPrefix                  activation: fingerprint, license_id, unique
	Activations                                     activation: license_id, id, unique
	Activations: LiveAt                             activation: license_id, id; those not ended
	Activations: LeaseEnds                          activation: license_id, lease_ends_at, id; those not ended
	Events                                          event: seq, unique
	Events: Subject                                 event: subject, seq
	Events: CustomerID                              event: customer_id, seq; those that have it
	Events: ProductID                               event: product_id, seq; those that have it
	Entry, Entries: ByKey                           entry: kind, key, unique
	Entries: ByExpiry                               entry: kind, expires_at, key; those that expire
	Entries: ByExpiry, Owner                        entry: kind, owner, expires_at, key; those that expire

At the lengths of rule 24 no index has more than 3,072 bytes, which is as much as
some databases allow.

An index that serves both a list and a count is one index: state is its last
column, so that a count with any State, or with a range of its own time, reads
nothing else. FindLicenses filters by Text and KeyPart what it examines, so they
have no index.

A list of licenses with more filters walks the index that serves those of
LicenseQuery.Walked, and skips what does not match the others. FindLicenses skips a
bounded number a call, so the rules call it for such lists. The two indexes for a State
beside another filter or a time serve only a State that is not active: they have no
active license, so that writing one costs no more.

A list of events with several of Subject, CustomerID and ProductID walks the index of
the first of them.

No query selects events by type, so there is no index for it: the rules read a
page of at most 1,000 events and skip those of other types, which takes 2 to 4 ms
however long the feed is. An index would add 4 % to the bytes of each create.
*/
package store
