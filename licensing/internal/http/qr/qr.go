// Package qr encodes short texts as QR codes (ISO/IEC 18004): in byte mode, with
// error correction level L and mask pattern 0, which every scanner reads.
package qr

// The sizes of versions 1 to 9 at level L, in bytes.
var (
	total      = [...]int{26, 44, 70, 100, 134, 172, 196, 242, 292}
	correction = [...]int{7, 10, 15, 20, 26, 18, 20, 24, 30} // of each block
	blocks     = [...]int{1, 1, 1, 1, 1, 2, 2, 2, 2}         // their number; they have the same size
)

// MaxLength is the length of the longest text, in bytes.
const MaxLength = 230

// Encode returns the modules of the code of a text, row by row; true is dark. A
// scanner needs a light border of four modules around them. It returns nil if the
// text is longer than MaxLength.
func Encode(text string) [][]bool {
	for i := range total {
		if size := total[i] - correction[i]*blocks[i]; len(text)+2 <= size { // with 12 bits of mode and length
			c := newSymbol(i + 1)
			c.drawPatterns()
			c.drawData(protect(pack(text, size), blocks[i], correction[i]))
			return c.dark
		}
	}
	return nil
}

// pack returns the data: the mode, the length, the text and the padding.
func pack(text string, size int) []byte {
	n := len(text)
	data := append(make([]byte, 0, size), 0x40|byte(n>>4), byte(n<<4)) // byte mode
	for _, b := range []byte(text) {
		data[len(data)-1] |= b >> 4
		data = append(data, b<<4)
	}
	for pad := byte(0xEC); len(data) < size; pad ^= 0xEC ^ 0x11 {
		data = append(data, pad)
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
	size := len(data) / n
	out := make([]byte, len(data)+n*correction)
	for block := range n {
		part, rest := data[block*size:(block+1)*size], make([]byte, correction)
		for i, b := range part {
			out[i*n+block] = b
			factor := b ^ rest[0]
			rest = append(rest[1:], 0)
			for j, g := range generator {
				rest[j] ^= multiply(g, factor)
			}
		}
		for i, b := range rest {
			out[len(data)+i*n+block] = b
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
	if c.version > 1 { // alignment
		c.drawSquares(last-6, last-6, 2, 1)
	}
	if c.version >= 7 {
		for _, at := range [][2]int{{6, last / 2}, {last / 2, 6}, {last / 2, last / 2}, {last / 2, last - 6}, {last - 6, last / 2}} {
			c.drawSquares(at[0], at[1], 2, 1)
		}
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
