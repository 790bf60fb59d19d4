package barcode

// The Data Matrix of ISO/IEC 16022, ECC 200, in its square sizes.

const dataMatrixQuiet = 1 // module

// dataMatrixSize is a size of the symbol (table 7).
type dataMatrixSize struct {
	side    int // modules, finder patterns included
	regions int // on a side; each has its own finder pattern
	data    int // code words
	check   int // code words
	blocks  int
}

var dataMatrixSizes = []dataMatrixSize{
	{10, 1, 3, 5, 1}, {12, 1, 5, 7, 1}, {14, 1, 8, 10, 1}, {16, 1, 12, 12, 1},
	{18, 1, 18, 14, 1}, {20, 1, 22, 18, 1}, {22, 1, 30, 20, 1}, {24, 1, 36, 24, 1},
	{26, 1, 44, 28, 1}, {32, 2, 62, 36, 1}, {36, 2, 86, 42, 1}, {40, 2, 114, 48, 1},
	{44, 2, 144, 56, 1}, {48, 2, 174, 68, 1}, {52, 2, 204, 84, 2}, {64, 4, 280, 112, 2},
	{72, 4, 368, 144, 4}, {80, 4, 456, 192, 4}, {88, 4, 576, 224, 4}, {96, 4, 696, 272, 4},
	{104, 4, 816, 336, 6}, {120, 6, 1050, 408, 6}, {132, 6, 1304, 496, 8}, {144, 6, 1558, 620, 10},
}

// Code words with a meaning of their own.
const (
	dataMatrixPad     = 129
	dataMatrixPairs   = 130 // 130 to 229 are the pairs of digits 00 to 99
	dataMatrixBase256 = 231
	dataMatrixFNC1    = 232
	dataMatrixECI     = 241
)

// encodeDataMatrix makes the smallest Data Matrix that holds the text.
func encodeDataMatrix(req *Request) (*symbol, error) {
	text := req.Text
	var words []byte
	if req.GS1 {
		data, err := gs1Data(DataMatrix, text)
		if err != nil {
			return nil, err
		}
		words = dataMatrixASCII(nil, data)
	} else {
		words = dataMatrixWords(text)
	}

	for _, size := range dataMatrixSizes {
		if len(words) <= size.data {
			words = dataMatrixPadding(words, size.data)
			words = append(words, dataMatrixCheck(words, size)...)
			return drawDataMatrix(words, size).symbol(dataMatrixQuiet), nil
		}
	}

	return nil, contentErrorf(DataMatrix, "is too long for a Data Matrix: at most 3,116 digits, "+
		"1,558 ASCII characters or about 1,550 other bytes; got %d bytes", len(text))
}

// dataMatrixWords encodes text as code words. The text from the first to the last character beyond ASCII uses Base
// 256, with one code word per byte, and the rest uses ASCII encodation.
func dataMatrixWords(text string) []byte {
	first, end := beyondASCII(text)
	if first == end {
		return dataMatrixASCII(nil, text)
	}
	words := []byte{dataMatrixECI, eciUTF8 + 1}
	words = dataMatrixASCII(words, text[:first])
	words = dataMatrixBytes(words, text[first:end])
	return dataMatrixASCII(words, text[end:])
}

// beyondASCII returns the start and the end of the bytes that are not ASCII.
func beyondASCII(text string) (first, end int) {
	for first < len(text) && text[first] < 128 {
		first++
	}
	end = len(text)
	for end > first && text[end-1] < 128 {
		end--
	}
	return first, end
}

// dataMatrixASCII appends ASCII text: a word for each character or pair of digits.
func dataMatrixASCII(words []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] == fnc1 {
			words = append(words, dataMatrixFNC1)
			continue
		}

		if i+1 < len(text) && isDigit(text[i]) && isDigit(text[i+1]) {
			words = append(words, dataMatrixPairs+10*(text[i]-'0')+text[i+1]-'0')
			i++
			continue
		}
		words = append(words, text[i]+1)
	}
	return words
}

// dataMatrixBytes appends bytes: a latch, their number and the bytes, mixed
// with their positions so that no pattern forms (annex B.2).
func dataMatrixBytes(words []byte, text string) []byte {
	words = append(words, dataMatrixBase256)
	field := make([]byte, 0, len(text)+2)
	if n := len(text); n < 250 {
		field = append(field, byte(n))
	} else {
		// Beyond the largest symbol the first byte overflows, which does not
		// matter: the text is refused for its length.
		field = append(field, byte(249+n/250), byte(n%250))
	}

	field = append(field, text...)
	for _, b := range field {
		position := len(words) + 1
		words = append(words, byte(int(b)+149*position%255+1))
	}
	return words
}

// dataMatrixPadding fills words up to n (annex B.1).
func dataMatrixPadding(words []byte, n int) []byte {
	if len(words) < n {
		words = append(words, dataMatrixPad)
	}

	for len(words) < n {
		position := len(words) + 1
		pad := dataMatrixPad + 149*position%253 + 1
		if pad > 254 {
			pad -= 254
		}
		words = append(words, byte(pad))
	}
	return words
}

// dataMatrixCheck returns the check words. Blocks take the words in turns, data
// and check words counted through: so in the size of 144 modules, whose blocks
// differ in length, the first check word belongs to the ninth block.
func dataMatrixCheck(data []byte, size dataMatrixSize) []byte {
	perBlock := size.check / size.blocks
	generator := dataMatrixField.generator(perBlock, 1)
	check := make([]byte, size.check)
	block := make([]byte, 0, size.data/size.blocks+1)

	for i := range size.blocks {
		block = block[:0]
		for j := i; j < len(data); j += size.blocks {
			block = append(block, data[j])
		}

		at := (i + size.blocks - len(data)%size.blocks) % size.blocks
		for _, b := range dataMatrixField.remainder(block, generator) {
			check[at] = b
			at += size.blocks
		}
	}
	return check
}

// drawDataMatrix lays the words out and puts the finder patterns around the
// regions: solid on the left and below, dotted on the right and above.
func drawDataMatrix(words []byte, size dataMatrixSize) *grid {
	region := size.side/size.regions - 2
	placed := placeDataMatrix(words, region*size.regions)
	g := newGrid(size.side)

	for y := range size.side {
		for x := range size.side {
			// The position in the region, from -1 to its size.
			rx, ry := x%(region+2)-1, y%(region+2)-1
			switch {
			case rx < 0 || ry == region:
				g.set(x, y, true)
			case ry < 0:
				g.set(x, y, x%2 == 0)
			case rx == region:
				g.set(x, y, y%2 == 1)
			default:
				g.set(x, y, placed.at(x/(region+2)*region+rx, y/(region+2)*region+ry))
			}
		}
	}
	return g
}
