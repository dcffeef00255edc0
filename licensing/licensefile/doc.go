/*
Package licensefile is the format of license files, with which a program checks
its license offline. It signs and verifies files and revocation lists, imports
the standard library only, and does no I/O.

A program embeds the public keys of its vendor, here jwks, and verifies a file:

	keys, err := licensefile.ParseKeys(jwks)
	if err != nil {
		return err
	}
	file, err := keys.Verify(text)
	if err != nil {
		return err
	}
	return file.Check(licensefile.Expect{ProductID: "atlas", Fingerprint: machine}) // such as ErrExpired

Verify the text first and store it only then: a file that does not verify must
never replace one that does.

# Format

A license file is a compact JWS (RFC 7515) that every JOSE library verifies. Its
header has typ "license-file+jwt", alg EdDSA (Ed25519) or ES256, and the kid of
the key. Its payload is a JSON Web Token: [Claims] documents the claims. It has
the name of the license, but neither metadata nor the license key, and at most
[MaxSize] bytes.

A verifier in another language checks the signature with the key that kid
names and the algorithm of that key, then typ, then aud (the product), nbf and
exp, then fingerprint_hash, which is computed as [FingerprintHash] documents.

[KeySet.Verify] is strict, so that all verifiers read the same claims: it refuses
base64url that is not canonical, duplicate members and names in another case,
and the header parameters crit, zip and b64. The key decides the algorithm, and
EdDSA and Ed25519 (RFC 9864) are two names of one. The header parameters jku, jwk
and x5c are ignored, in a header of at most 4 KiB. Claims that this version does not
know are ignored too.

The text of a file is not its identity: from a signature with ES256, anyone can
compute a second one that verifies too. Compare the jti, [Claims].ID.

# Keys

A [KeySet] is the trust root of a program. Embed it; a set that the program
fetches proves nothing, because an attacker who can change the answer of the server
can change the keys too. The order matters: oldest key first. A service has two keys
from the first day, of which the second signs nothing yet, so embed both and a
rotation does not require a new version of the program.

# Expiry and clocks

[File.Check] compares the file with what the program expects. The clock may be
behind that of the service by [Leeway]; an expired file gets no leeway. A
program that remembers the latest IssuedAt which was within Leeway of its own
clock passes it as Floor: a clock that was set back then gives [ErrClock].

# Revocation

A revocation list is a JWS with typ "license-revocations+jwt". It names licenses
by a hash, with the lowest generation of files that are still valid. A generation
is a number in the license and in its files that rises when the license changes
for the worse, so a new file is valid while older ones are refused:

	list, err := keys.VerifyRevocations(text)
	if err == nil {
		err = list.Check("atlas", time.Now())
	}
	if errors.Is(err, licensefile.ErrStaleList) {
		log.Print(err) // a stale list still refuses what it names
	} else if err != nil {
		return err
	}
	keys = keys.Condemn(list.CondemnedKeys...)
	err = file.Check(licensefile.Expect{ProductID: "atlas", Revocations: &list})

Keep the list that [KeySet.Newer] prefers. A list can condemn compromised keys,
but only those before the key that signed it, so a stolen key cannot
condemn its successor.

# Requests without a network

A program on a machine without a network prints the text of a [Request], which
fits into a QR code. It names the fingerprint and has a nonce; the license key is
in it as a hash only. The file that comes back has the nonce, and the program
passes it to [File.Check] as Expect.Nonce:

	request := licensefile.NewRequest(key, machine)
	text, err := request.Text()

# Offices

An office lends a license on a network without internet. The file that the vendor issued
for it has the claim [Office]: jwk, which is the key of the office, seats, and meters, which
programs ignore. A file that the office signs has that file, unchanged, in the header
parameter office. [KeySet.Verify] verifies both with the keys of the vendor only, and so does a
verifier in another language; see [File.Lender]:

 1. If the key set has the kid, the vendor signed the file, and office in the header is
    ignored.
 2. Otherwise, the file in office must verify with a key of the set, and have the claim office.
 3. The file itself must have the kid of that jwk, and verify with it and with no other key.
 4. Refused is a file with another sub or aud than the file of the office, with a later exp,
    without activation_id or fingerprint_hash, or with the claim office.
 5. From the file come jti, iat, nbf, exp, activation_id, fingerprint_hash, recheck and
    nonce, and from the file of the office all else. An iat or nbf before that of the
    file of the office becomes that one. Then the result is checked as any file.

Revocation lists apply to the license, its generation, the key of the vendor and the iat of
the file of the office. The time of an office is not certain: do not take it as a lower limit
of the time. The file of an office has at most 2.9 KiB, because it is in each header, which has
at most 4 KiB.

The request of an office is a JWS of at most 4 KiB with typ "license-office-request+jwt". Its
payload has jwk, with which it is signed, seats, key_hash, which is absent without a key
([KeyHash]), and in meters, which needs key_hash, a total for each meter. Its seats are
activations whose fingerprints [OfficeFingerprint] returns. No other request can use these,
no program takes them over, and only force releases them.

[NewLender] signs the files of an office, and [SignOfficeRequest] its request.

# Issuing

[Sign] and [SignRevocations] sign with a [crypto.Signer]: an
[ed25519.PrivateKey], an [*ecdsa.PrivateKey] on P-256, or one of a KMS or an HSM.
[Claims.Validate] says beforehand whether Sign would refuse the claims.

# Errors

Each reason for a refusal has its own error; see the variables. Their texts name the
cause for a log or a support ticket and contain no credential.
*/
package licensefile
