package barcode

import (
	"math/big"
	"strings"
)

// The code words of PDF417 that change the compaction mode (ISO/IEC
// 15438, clause 5.4). A symbol begins in text compaction.
const (
	pdf417Text     = 900
	pdf417Bytes    = 901
	pdf417Numbers  = 902
	pdf417BytesBy6 = 924 // the number of bytes is a multiple of six
	pdf417ECI      = 927 // the number of a character set follows
)

// The runs for which it pays to change the mode (annex P).
const (
	pdf417DigitRun = 13
	pdf417TextRun  = 5
)

// pdf417Words writes text as code words, in the shortest of the three modes for
// each part of it.
func pdf417Words(text string) []int {
	var words []int
	if !isASCII(text) {
		words = append(words, pdf417ECI, eciUTF8)
	}

	mode := pdf417Text
	for len(text) > 0 {
		next, n := pdf417Part(text)
		if next == pdf417Bytes {
			words = pdf417AppendBytes(words, text[:n])
			mode = pdf417Bytes
		} else {
			if next != mode {
				words = append(words, next)
				mode = next
			}
			if next == pdf417Numbers {
				words = pdf417AppendDigits(words, text[:n])
			} else {
				words = pdf417AppendText(words, text[:n])
			}
		}
		text = text[n:]
	}
	return words
}

// pdf417Part returns the mode for the beginning of text and the length of that part.
func pdf417Part(text string) (mode, n int) {
	if n := digitRun(text); n >= pdf417DigitRun {
		return pdf417Numbers, n
	}
	if n := pdf417TextLen(text); n >= pdf417TextRun || n == len(text) {
		return pdf417Text, n
	}

	for n = 1; n < len(text); n++ {
		rest := text[n:]
		if digitRun(rest) >= pdf417DigitRun || pdf417TextLen(rest) >= pdf417TextRun {
			break
		}
	}
	return pdf417Bytes, n
}

// digitRun returns how many digits text begins with.
func digitRun(text string) int {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

// pdf417TextLen returns the length of the text compaction: up to an unsupported character, or to a long run of
// digits.
func pdf417TextLen(text string) int {
	n := 0
	for n < len(text) && pdf417HasText(text[n]) {
		if d := digitRun(text[n:]); d >= pdf417DigitRun {
			break
		} else if d > 0 {
			n += d
			continue
		}
		n++
	}
	return n
}

func pdf417HasText(b byte) bool {
	return ' ' <= b && b <= '~' || b == '\t' || b == '\n' || b == '\r'
}

// pdf417AppendDigits writes 44 digits, with a 1 before them, as a number to the
// base 900.
func pdf417AppendDigits(words []int, digits string) []int {
	base := big.NewInt(900)
	rest := new(big.Int)
	for len(digits) > 0 {
		group := digits[:min(44, len(digits))]
		digits = digits[len(group):]
		number, _ := new(big.Int).SetString("1"+group, 10)

		start := len(words)
		for number.Sign() > 0 {
			number.QuoRem(number, base, rest)
			words = append(words, int(rest.Int64()))
		}
		reverse(words[start:])
	}
	return words
}

// pdf417AppendBytes writes six bytes as five code words, and each remaining byte as one code word.
func pdf417AppendBytes(words []int, text string) []int {
	if len(text)%6 == 0 {
		words = append(words, pdf417BytesBy6)
	} else {
		words = append(words, pdf417Bytes)
	}

	for ; len(text) >= 6; text = text[6:] {
		number := 0
		for i := range 6 {
			number = number<<8 | int(text[i])
		}
		start := len(words)
		for range 5 {
			words = append(words, number%900)
			number /= 900
		}
		reverse(words[start:])
	}

	for i := range len(text) {
		words = append(words, int(text[i]))
	}
	return words
}

func reverse(words []int) {
	for i, j := 0, len(words)-1; i < j; i, j = i+1, j-1 {
		words[i], words[j] = words[j], words[i]
	}
}

// The submodes of text compaction. A string holds the characters at
// their values; zero bytes are values that change the submode.
const (
	pdf417Upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ "
	pdf417Lower = "abcdefghijklmnopqrstuvwxyz "
	pdf417Mixed = "0123456789&\r\t,:#-.$/+%*=^\x00 "
	pdf417Punct = ";<>@[\\]_`~!\r\t,:\n-.$/\"|*()?{}'"
)

// The values that change the submode, for the characters that follow or, as a
// shift, for one.
const (
	pdf417PunctLatch = 25 // in mixed
	pdf417LowerLatch = 27 // in upper and mixed
	pdf417UpperShift = 27 // in lower
	pdf417MixedLatch = 28 // in upper and lower
	pdf417UpperLatch = 28 // in mixed
	pdf417PunctShift = 29 // in all but punct
	pdf417PunctLeave = 29 // in punct, to upper
)

// pdf417AppendText writes text two values to a code word.
func pdf417AppendText(words []int, text string) []int {
	values := pdf417TextValues(text)
	if len(values)%2 == 1 {
		values = append(values, pdf417PunctShift) // shifts nothing
	}
	for i := 0; i < len(values); i += 2 {
		words = append(words, 30*values[i]+values[i+1])
	}
	return words
}

// pdf417TextValues returns the values of a text, from the upper-case submode,
// in which text compaction begins each time.
func pdf417TextValues(text string) []int {
	submode := pdf417Upper
	var values []int
	for i := 0; i < len(text); {
		if v := strings.IndexByte(submode, text[i]); v >= 0 {
			values = append(values, v)
			i++
			continue
		}

		latch, next := pdf417Latch(submode, text[i:])
		values = append(values, latch)
		if next != "" {
			submode = next
			continue
		}

		// A shift, which the character follows.
		from := pdf417Punct
		if latch == pdf417UpperShift {
			from = pdf417Upper
		}
		values = append(values, strings.IndexByte(from, text[i]))
		i++
	}
	return values
}

// pdf417Latch returns the value that leaves a submode for the beginning of text,
// and the submode that it leads to: "" for a shift of one character.
func pdf417Latch(submode, text string) (value int, next string) {
	has := func(submode string) bool { return strings.IndexByte(submode, text[0]) >= 0 }

	switch {
	case submode == pdf417Punct:
		return pdf417PunctLeave, pdf417Upper
	case submode == pdf417Mixed && has(pdf417Upper):
		return pdf417UpperLatch, pdf417Upper
	case has(pdf417Lower):
		return pdf417LowerLatch, pdf417Lower
	case submode == pdf417Lower && has(pdf417Upper):
		if len(text) > 1 && 'A' <= text[1] && text[1] <= 'Z' {
			// Text compaction has no direct latch to upper; mixed has one.
			return pdf417MixedLatch, pdf417Mixed
		}
		return pdf417UpperShift, ""
	case has(pdf417Mixed):
		return pdf417MixedLatch, pdf417Mixed
	case submode == pdf417Mixed && len(text) > 1 && strings.IndexByte(pdf417Punct, text[1]) >= 0:
		return pdf417PunctLatch, pdf417Punct
	}
	return pdf417PunctShift, ""
}
