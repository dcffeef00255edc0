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

// fewestBytes is about how many bytes a posting takes in a block at least.
const fewestBytes = 16

// blockSize is how many bytes a block has at least, unless it is the last one. In
// SQLite, an entry of more than 1,000 bytes is slow to find: its tail is on another
// page, which is read for every comparison of its key.
const blockSize = 850

// A block is the data of an entry with sorted postings. For each of them: the
// length of the term plus one and the term, or zero if it is the term before; how
// many bytes of the ID are those of the ID before; twice the length of the rest of
// the ID, plus one if the posting is gone, and that rest. Lengths are varints.

// encodeBlock encodes the first postings of a list, and returns how many.
func encodeBlock(list []posting) (data []byte, n int) {
	data = make([]byte, 0, blockSize+blockSize/8)
	var before posting
	for n < len(list) && len(data) < blockSize {
		p := list[n]
		if n > 0 && p.term == before.term {
			data = append(data, 0)
		} else {
			data = append(binary.AppendUvarint(data, uint64(len(p.term))+1), p.term...)
		}
		same := 0
		for same < min(len(p.id), len(before.id)) && p.id[same] == before.id[same] {
			same++
		}
		length := uint64(len(p.id)-same) << 1
		if p.gone {
			length |= 1
		}
		data = binary.AppendUvarint(binary.AppendUvarint(data, uint64(same)), length)
		data = append(data, p.id[same:]...)
		before = p
		n++
	}
	return data, n
}

// decodeBlock appends the postings of a block to a list.
func decodeBlock(list []posting, data []byte) ([]posting, error) {
	list = slices.Grow(list, len(data)/fewestBytes)
	d := decoder{rest: string(data)}
	d.ids.Grow(2 * len(data))
	for d.rest != "" {
		list = append(list, d.posting())
	}
	return list, d.err
}

// A decoder reads lengths and texts. After an error, rest is empty.
type decoder struct {
	rest string
	err  error

	last posting         // that was read
	ids  strings.Builder // of the postings
}

var errGarbled = fmt.Errorf("garbled data: %w", errBroken)

func (d *decoder) length() uint64 {
	var n uint64
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
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

// integer reads a signed varint.
func (d *decoder) integer() int64 {
	n := d.length()
	return int64(n>>1) ^ -int64(n&1)
}

// posting reads the next posting of a block.
func (d *decoder) posting() posting {
	if d.rest[0] == 0 {
		d.rest = d.rest[1:]
	} else {
		d.last.term = d.text(d.length() - 1)
	}
	same := min(d.length(), uint64(len(d.last.id)))
	n := d.length()
	begin := d.ids.Len()
	d.ids.WriteString(d.last.id[:same])
	d.ids.WriteString(d.text(n >> 1))
	d.last.id, d.last.gone = d.ids.String()[begin:], n&1 == 1
	return d.last
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
