package catalog

import (
	"hash/crc32"
	"strings"
)

// The groups of keys are random. With an entry for each, a license would cost
// five writes to random places of the store. So the groups of a batch are
// written together, as a run: a few blocks, each with the groups whose hash
// begins with the number of the block. Later batches merge runs of a level, in
// slices, into one run of the next level. A group is looked up in one block of
// each run, in one call.
const (
	fanOut       = 4    // runs that are merged into one
	levelBits    = 2    // log2 of fanOut
	blockSize    = 100  // pairs of a block on average, if it is full
	commonGroup  = 40   // a group with more licenses in one block gets entries of its own
	mergePerPair = 10   // pairs to merge for each new pair
	minMerge     = 500  // pairs to merge with a batch
	idleMerge    = 4000 // pairs to merge in a batch without changes
)

// A run is a set of fanOut^Level blocks with at most about blockSize pairs each.
type run struct {
	Number int    `json:"n"`
	Level  int    `json:"l"`
	First  string `json:"a"`           // no license in it has a lower ID
	Last   string `json:"z"`           // or a higher one
	Into   int    `json:"i,omitempty"` // number of the run that it is being merged into
	Open   bool   `json:"o,omitempty"` // others are being merged into it
	Done   int    `json:"d,omitempty"` // how many blocks of each of them were merged
}

// blocks returns the kind of the entries that hold blocks.
func (g *generation) blocks() string { return g.Kind + ".group" }

// key returns the key of the block that holds a group.
func (r run) key(term string) string {
	return r.block(int(uint64(crc32.ChecksumIEEE([]byte(term))) >> (32 - levelBits*r.Level)))
}

// block returns the key of a block by its number.
func (r run) block(i int) string {
	const digits = "0123456789abcdef"
	var key [16]byte
	for at, n := 15, uint64(r.Number)<<32|uint64(i); at >= 0; at, n = at-1, n>>4 {
		key[at] = digits[n&15]
	}
	return string(key[:])
}

// size returns how many blocks the run has.
func (r run) size() int { return 1 << (levelBits * r.Level) }

// include extends the range of the IDs of licenses.
func (r *run) include(id string) {
	if r.First == "" || id < r.First {
		r.First = id
	}
	r.Last = max(r.Last, id)
}

// level returns the level of a run with n pairs.
func level(n int) (l int) {
	for most := blockSize; n > most; most *= fanOut {
		l++
	}
	return l
}

// A pair is a term, a space and the ID of a license with that term.
func pairOf(term, id string) string { return term + " " + id }

func splitPair(pair string) (term, id string) {
	i := strings.LastIndexByte(pair, ' ')
	return pair[:max(i, 0)], pair[i+1:]
}
