// Package qr encodes texts as QR codes (ISO/IEC 18004): in byte mode, with error
// correction level L and mask pattern 0, which every scanner reads.
package qr

import (
	"fmt"
	"strings"
)

// The error correction of versions 1 to 25 at level L.
var (
	correction = [...]int{7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30, 30, 26} // bytes of each block
	blocks     = [...]int{1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12}
)

// MaxLength is the length of the longest text, in bytes. Cameras have trouble with the
// codes of longer ones.
const MaxLength = 1273

// A Drawing is a code as an SVG path, with its light border.
type Drawing struct {
	Size int // of the sides
	Path string
}

// Draw returns the code of a text, or nil if the text is longer than MaxLength.
func Draw(text string) *Drawing {
	const border = 4
	modules := Encode(text)
	if modules == nil {
		return nil
	}
	var path strings.Builder
	for y, row := range modules {
		for x := 0; x < len(row); x++ {
			n := 0 // dark modules side by side
			for x+n < len(row) && row[x+n] {
				n++
			}
			if n > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+border, y+border, n, n)
				x += n
			}
		}
	}
	return &Drawing{len(modules) + 2*border, path.String()}
}

// Encode returns the modules of the code of a text, row by row; true is dark. A
// scanner needs a light border of four modules around them. It returns nil if the
// text is longer than MaxLength.
func Encode(text string) [][]bool {
	for i, n := range blocks {
		c := newSymbol(i + 1)
		c.drawPatterns()
		total := c.free() / 8
		data := pack(text, c.version)
		if size := total - correction[i]*n; len(data) <= size {
			for pad := byte(0xEC); len(data) < size; pad ^= 0xEC ^ 0x11 {
				data = append(data, pad)
			}
			c.drawData(protect(data, n, correction[i]))
			return c.dark
		}
	}
	return nil
}

// pack returns the data without padding: the mode, the length in one byte or, from
// version 10 on, in two, the text, and the terminator, shifted by half a byte.
func pack(text string, version int) []byte {
	head := []byte{byte(len(text))}
	if version >= 10 {
		head = []byte{byte(len(text) >> 8), byte(len(text))}
	}
	data := []byte{0x40} // byte mode
	for _, b := range append(head, text...) {
		data[len(data)-1] |= b >> 4
		data = append(data, b<<4)
	}
	return data
}

// protect divides data into n blocks, adds the error correction of each, and
// returns the bytes of all blocks by turns.
func protect(data []byte, n, correction int) []byte {
	generator := make([]byte, correction) // the Reed–Solomon polynomial, without its leading 1
	generator[correction-1] = 1
	root := byte(1)
	for range correction {
		for i := range generator {
			generator[i] = multiply(generator[i], root)
			if i+1 < correction {
				generator[i] ^= generator[i+1]
			}
		}
		root = multiply(root, 2)
	}
	size, long := len(data)/n, n-len(data)%n // the blocks from long on have a byte more
	out := make([]byte, len(data)+n*correction)
	for block := range n {
		part, rest := data[:size], make([]byte, correction)
		if block >= long {
			part = data[:size+1]
		}
		data = data[len(part):]
		for i, b := range part {
			if at := i*n + block; i < size {
				out[at] = b
			} else {
				out[at-long] = b
			}
			factor := b ^ rest[0]
			rest = append(rest[1:], 0)
			for j, g := range generator {
				rest[j] ^= multiply(g, factor)
			}
		}
		for i, b := range rest {
			out[len(out)-(correction-i)*n+block] = b
		}
	}
	return out
}

// multiply multiplies in GF(2⁸) modulo x⁸+x⁴+x³+x²+1.
func multiply(x, y byte) (z byte) {
	for i := 7; i >= 0; i-- {
		z = z<<1 ^ z>>7*0x1D ^ y>>i&1*x
	}
	return z
}

// A symbol is a code that is being drawn.
type symbol struct {
	version, size int
	dark, fixed   [][]bool // fixed modules hold no data
}

func newSymbol(version int) *symbol {
	c := &symbol{version: version, size: 17 + 4*version}
	for range c.size {
		c.dark, c.fixed = append(c.dark, make([]bool, c.size)), append(c.fixed, make([]bool, c.size))
	}
	return c
}

// set sets a fixed module.
func (c *symbol) set(x, y int, dark bool) { c.dark[y][x], c.fixed[y][x] = dark, true }

// drawPatterns draws the fixed modules.
func (c *symbol) drawPatterns() {
	last := c.size - 1
	for i := range c.size { // timing
		c.set(6, i, i%2 == 0)
		c.set(i, 6, i%2 == 0)
	}
	c.drawSquares(3, 3, 4, 2) // finders
	c.drawSquares(last-3, 3, 4, 2)
	c.drawSquares(3, last-3, 4, 2)
	for _, x := range c.alignment() {
		for _, y := range c.alignment() {
			if beside := min(x, y) == 6; !beside || max(x, y) != 6 && max(x, y) != last-6 { // no finder is there
				c.drawSquares(x, y, 2, 1)
			}
		}
	}
	if c.version >= 7 {
		bits := c.version
		for range 12 {
			bits = bits<<1 ^ bits>>11*0x1F25
		}
		bits |= c.version << 12
		for i := range 18 {
			c.set(last-10+i%3, i/3, bits>>i&1 == 1)
			c.set(i/3, last-10+i%3, bits>>i&1 == 1)
		}
	}
	const format = 0b111011111000100 // level L, mask pattern 0; x is a column, and a row
	for i, x := range [15]int{0, 1, 2, 3, 4, 5, 7, 8, last - 6, last - 5, last - 4, last - 3, last - 2, last - 1, last} {
		c.set(x, 8, format>>(14-i)&1 == 1)
		c.set(8, x, format>>i&1 == 1)
	}
	c.set(last-7, 8, format>>7&1 == 1)
	c.set(8, last-7, true)
}

// alignment returns the columns, and rows, of the alignment patterns.
func (c *symbol) alignment() []int {
	if c.version == 1 {
		return nil
	}
	n := c.version/7 + 2
	step := (c.version*8 + n*3 + 5) / (n*4 - 4) * 2
	at := []int{6}
	for i := n - 2; i >= 0; i-- {
		at = append(at, c.size-7-i*step)
	}
	return at
}

// free returns how many modules hold data.
func (c *symbol) free() (n int) {
	for _, row := range c.fixed {
		for _, fixed := range row {
			if !fixed {
				n++
			}
		}
	}
	return n
}

// drawSquares draws squares around a module up to a distance. They are dark, except
// the one at the distance light, and the border of a finder, at the distance 4.
func (c *symbol) drawSquares(x, y, distance, light int) {
	for dy := -distance; dy <= distance; dy++ {
		for dx := -distance; dx <= distance; dx++ {
			if d := max(dx, -dx, dy, -dy); x+dx >= 0 && x+dx < c.size && y+dy >= 0 && y+dy < c.size {
				c.set(x+dx, y+dy, d != light && d != 4)
			}
		}
	}
}

// drawData draws bytes in columns of two, upward and downward by turns, with the
// mask.
func (c *symbol) drawData(data []byte) {
	i := 0
	for right := c.size - 1; right > 0; right -= 2 {
		if right == 6 { // timing
			right--
		}
		for y := range c.size {
			if (right+1)&2 == 0 {
				y = c.size - 1 - y
			}
			for _, x := range []int{right, right - 1} {
				if !c.fixed[y][x] {
					dark := i < 8*len(data) && data[i/8]>>(7-i%8)&1 == 1
					c.dark[y][x] = dark != ((x+y)%2 == 0)
					i++
				}
			}
		}
	}
}
