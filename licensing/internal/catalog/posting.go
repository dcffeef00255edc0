package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A posting says that a license has a term or, if gone is true, that it no longer
// has it, whatever older postings say.
type posting struct {
	term, id string
	gone     bool
}

// The pair of a posting is its term, a space and the ID of its license. Terms
// contain no character at or below a space, so pairs and postings sort alike.
func pairOf(term, id string) string { return term + " " + id }

func splitPair(pair string) (term, id string) {
	term, id, _ = strings.Cut(pair, " ")
	return term, id
}

func (p posting) pair() string { return pairOf(p.term, p.id) }

// compare compares the pairs of two postings.
func (p posting) compare(q posting) int {
	if c := strings.Compare(p.term, q.term); c != 0 {
		return c
	}
	return strings.Compare(p.id, q.id)
}

// compareTo compares the pair of a posting with a pair, or with the beginning of one.
func (p posting) compareTo(pair string) int {
	n := len(p.term)
	if len(pair) <= n {
		if c := strings.Compare(p.term[:len(pair)], pair); c != 0 {
			return c
		}
		return 1
	}
	if c := strings.Compare(p.term, pair[:n]); c != 0 {
		return c
	}
	if pair[n] != ' ' {
		return strings.Compare(" ", pair[n:])
	}
	return strings.Compare(p.id, pair[n+1:])
}

// leastPosting is how many bytes a posting of a license takes in a block at least.
const leastPosting = 28

// blockSize is how many bytes a block has at least, unless it is the last one. In
// SQLite, an entry of more than 1,000 bytes is slow to find: its tail is on another
// page, which is read for every comparison of its key.
const blockSize = 850

// A block is the data of an entry with sorted postings. For each of them: the
// length of the term plus one and the term, or zero if it is the term before;
// twice the length of the ID, plus one if the posting is gone, and the ID.
// Lengths are varints.

// encodeBlock encodes the first postings of a list, and returns how many.
func encodeBlock(list []posting) (data []byte, n int) {
	data = make([]byte, 0, blockSize+blockSize/8)
	term := ""
	for n < len(list) && len(data) < blockSize {
		p := list[n]
		if n > 0 && p.term == term {
			data = append(data, 0)
		} else {
			term = p.term
			data = append(binary.AppendUvarint(data, uint64(len(term))+1), term...)
		}
		length := uint64(len(p.id)) << 1
		if p.gone {
			length |= 1
		}
		data = append(binary.AppendUvarint(data, length), p.id...)
		n++
	}
	return data, n
}

// decodeBlock appends the postings of a block to a list.
func decodeBlock(list []posting, data []byte) ([]posting, error) {
	list = slices.Grow(list, len(data)/leastPosting)
	d := decoder{rest: string(data)}
	term := ""
	for d.rest != "" {
		var p posting
		p, term = d.posting(term)
		list = append(list, p)
	}
	return list, d.err
}

// A decoder reads lengths and texts. After an error, rest is empty.
type decoder struct {
	rest string
	err  error
}

var errGarbled = fmt.Errorf("garbled data: %w", errBroken)

func (d *decoder) length() uint64 {
	var n uint64
	for i := 0; i < len(d.rest) && i < 5; i++ {
		c := d.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			return n
		}
	}
	d.rest, d.err = "", errors.Join(d.err, errGarbled)
	return 0
}

// posting reads a posting after one with a term, and returns its own.
func (d *decoder) posting(before string) (p posting, term string) {
	if p.term = before; d.rest[0] == 0 {
		d.rest = d.rest[1:]
	} else {
		p.term = d.text(d.length() - 1)
	}
	n := d.length()
	p.id, p.gone = d.text(n>>1), n&1 == 1
	return p, p.term
}

func (d *decoder) text(n uint64) string {
	if n > uint64(len(d.rest)) {
		d.rest, d.err = "", errors.Join(d.err, errGarbled)
		return ""
	}
	text := d.rest[:n]
	d.rest = d.rest[n:]
	return text
}
