package barcode

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed pdf417_patterns.txt
var pdf417PatternText string

// pdf417Patterns returns the bars and spaces of the code words in each of the three clusters, which rows take in turns
// (ISO/IEC 15438, annex A). A pattern is 17 modules, the first one always dark and left out here.
var pdf417Patterns = sync.OnceValue(func() *[3][pdf417Base]uint16 {
	var clusters [3][pdf417Base]uint16
	for i, text := range strings.Fields(pdf417PatternText) {
		pattern, err := strconv.ParseUint(text, 16, 16)
		if err != nil {
			panic("barcode: pdf417_patterns.txt: " + err.Error())
		}
		clusters[i/pdf417Base][i%pdf417Base] = uint16(pattern)
	}
	return &clusters
})
