package store

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// idAlphabet is Crockford's base32 in lower case. It is in byte order, so
// that ids sort as the bits they encode.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID returns a new identifier: the prefix, an underscore and 26 characters
// that encode a UUID of version 7 (RFC 9562) made at t. Identifiers of one
// prefix sort by their time, to the millisecond; a time before 1970 counts as
// its beginning.
//
// It uses no store. It is in this package because every package that writes records
// needs it.
func NewID(prefix string, t time.Time) string {
	var u [16]byte
	rand.Read(u[6:])
	ms := uint64(max(0, t.UnixMilli()))
	binary.BigEndian.PutUint16(u[0:], uint16(ms>>32))
	binary.BigEndian.PutUint32(u[2:], uint32(ms))
	u[6] = u[6]&0x0f | 0x70 // version 7
	u[8] = u[8]&0x3f | 0x80 // variant of RFC 9562
	var text [32]byte       // of most
	return string(encode128(append(append(text[:0], prefix...), '_'), u))
}

// encode128 appends 128 bits as 26 digits of five bits, filled up with two
// zero bits on the left: the layout of a TypeID.
func encode128(b []byte, u [16]byte) []byte {
	var out [26]byte
	hi, lo := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = idAlphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return append(b, out[:]...)
}
