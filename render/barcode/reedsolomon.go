package barcode

// field is a Galois field of 256 elements, as tables of powers and logarithms.
type field struct {
	exp [510]byte // twice, so that a sum of two logarithms needs no modulo
	log [256]int
}

// The fields of the symbologies. Nothing changes them.
var (
	qrField         = newField(0x11D)
	dataMatrixField = newField(0x12D)
)

// newField makes the field of a primitive polynomial.
func newField(polynomial int) *field {
	f := new(field)
	x := 1
	for i := range 255 {
		f.exp[i] = byte(x)
		f.exp[i+255] = byte(x)
		f.log[x] = i
		x <<= 1
		if x > 255 {
			x ^= polynomial
		}
	}
	return f
}

func (f *field) mul(a, b byte) byte {
	if a == 0 || b == 0 {
		return 0
	}
	return f.exp[f.log[a]+f.log[b]]
}

// generator returns the product of (x - 2^i) for i from first to
// first+degree-1, highest power first and without its leading 1.
func (f *field) generator(degree, first int) []byte {
	g := make([]byte, degree)
	g[degree-1] = 1
	for i := range degree {
		root := f.exp[first+i]
		for j := range g {
			g[j] = f.mul(g[j], root)
			if j+1 < degree {
				g[j] ^= g[j+1]
			}
		}
	}
	return g
}

// remainder returns the check words of data: the remainder of data, shifted by the degree of the generator, divided
// by the generator.
func (f *field) remainder(data, generator []byte) []byte {
	rem := make([]byte, len(generator))
	for _, b := range data {
		factor := b ^ rem[0]
		copy(rem, rem[1:])
		rem[len(rem)-1] = 0
		for i, g := range generator {
			rem[i] ^= f.mul(g, factor)
		}
	}
	return rem
}
