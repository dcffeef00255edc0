/*
Package files manages the keys that sign license files. Handler.Files of package
licensing returns its [Service]; package licensefile is the format of the files.

	set, err := h.Files().KeySet(ctx) // the public keys
	if err != nil {
		return err
	}
	text, err := json.Marshal(set) // embed it in your programs

# Signing keys

The store keeps a ring of keys. The first use creates two: one is active
and signs; the other is next and only published, so that programs can pin both
from the first day, and a rotation needs no new version of a program.

GET /file/keys publishes the same set. A program must embed the keys and not
fetch them.

[Service.RotateKey] activates the next key and creates another. The key that was
active stays in the set, so the files that it signed stay valid. A key should be
published for 90 days before it signs; activating it earlier needs Force.
[Service.RetireKey] removes a key from the set once its files have expired.

[Service.CondemnKey] marks a key as compromised: it leaves the set, and if it was
active, the next key signs immediately. [Service.SignRevocations] returns a
revocation list, which tells programs that pin the key.

# Private halves

Private halves are in the store, encrypted with Options.MasterKey. Without a
MasterKey they are stored in plain text, and the log and the dashboard say so. An
archive of the store contains them in the same form.

Options.SigningKeys are keys of the host, in a KMS or an HSM. The store keeps only
their states. The first of them becomes active if the ring is new; the others
follow in their order, and the Service generates no keys after them.

The private half of the next key may be kept elsewhere, where an intruder on the
server cannot reach it: call [Service.AddKey] with only the public half, and
[Service.RotateKey] with the private half when the key is needed.

# Events

Every change appends signing_key.created, signing_key.rotated,
signing_key.retired or signing_key.compromised in the same update. The subject is
the ID of the key. Events never contain a private half.

# Concurrency

A [Service] is safe for concurrent use. Any number of processes may share a
store. A change applies immediately in the process that makes it; in others,
[Service.Sign] and [Service.KeySet] may use the earlier keys for up to one second
more.
*/
package files
