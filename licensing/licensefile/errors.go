package licensefile

import "errors"

// The errors of the format. Test for them with [errors.Is]: most are wrapped
// with details.
var (
	// Verify and VerifyRevocations return these.
	ErrTooLarge     = errors.New("licensefile: larger than the limit")
	ErrTruncated    = errors.New("licensefile: truncated; a part at the end is missing")
	ErrEncoding     = errors.New("licensefile: not canonical base64url without padding (RFC 4648 section 5)")
	ErrMalformed    = errors.New("licensefile: malformed")
	ErrDuplicate    = errors.New("licensefile: a JSON object has a duplicate member")
	ErrType         = errors.New("licensefile: wrong typ in the header")
	ErrCritical     = errors.New("licensefile: the header has crit, and no extension is supported")
	ErrCompressed   = errors.New("licensefile: the header has zip, and compression is not supported")
	ErrUnencoded    = errors.New("licensefile: the header has b64, and unencoded payloads are not supported")
	ErrNoKeyID      = errors.New("licensefile: the header has no kid")
	ErrUnknownKey   = errors.New("licensefile: signed with a key that is not in the key set")
	ErrCondemnedKey = errors.New("licensefile: signed with a compromised key")
	ErrAlgorithm    = errors.New("licensefile: the alg in the header does not belong to the key")
	ErrSignature    = errors.New("licensefile: the signature is wrong; the text was altered")
	ErrLent         = errors.New("licensefile: not what the office may lend")

	// ParseKeys, NewKeySet and KeyID return these.
	ErrNoUsableKey  = errors.New("licensefile: the key set has no usable key")
	ErrDuplicateKey = errors.New("licensefile: the key set has a key twice")
	ErrKeyID        = errors.New("licensefile: the kid of a key is not its RFC 7638 thumbprint")
	ErrKeyType      = errors.New("licensefile: the key is neither Ed25519 nor ECDSA P-256, or not for signatures")
	ErrPrivateKey   = errors.New("licensefile: the key set has a private key; use its public half only")

	// Check of a file returns these, and ErrCondemnedKey.
	ErrProduct       = errors.New("licensefile: for another product")
	ErrOffice        = errors.New("licensefile: for an office, which lends the license to programs; install it there")
	ErrOtherLicense  = errors.New("licensefile: the revocation list is about another license")
	ErrFingerprint   = errors.New("licensefile: for another fingerprint")
	ErrNonce         = errors.New("licensefile: does not answer this request")
	ErrRevoked       = errors.New("licensefile: the license is suspended, revoked or deleted")
	ErrOldGeneration = errors.New("licensefile: the license has changed since the file was issued; get a new file")
	ErrClock         = errors.New("licensefile: the clock of this machine was set back")
	ErrEarly         = errors.New("licensefile: not valid yet")
	ErrExpired       = errors.New("licensefile: expired")
	ErrUpdatesEnded  = errors.New("licensefile: this build is newer than the updates of the license, which ended")

	// Check of a revocation list returns these, and ErrProduct.
	ErrStaleList = errors.New("licensefile: the revocation list is out of date")
	ErrListAhead = errors.New("licensefile: the sequence of the revocation list is more than a day ahead")
)
