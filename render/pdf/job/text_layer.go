package job

import (
	"bytes"
	"context"
	"encoding/xml"
	"math"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
)

// ReadPage is the text that OCR read on a page.
type ReadPage struct {
	Page       int        `json:"page" jsonschema:"required" jsonschema_description:"Number of the page, from 1."`
	Source     string     `json:"source" jsonschema:"required,enum=ocr,enum=text" jsonschema_description:"Source of the text. ocr: OCR. text: the page's text layer."`
	Width      float64    `json:"width" jsonschema:"required" jsonschema_description:"Width of the page as displayed, in points."`
	Height     float64    `json:"height" jsonschema:"required" jsonschema_description:"Height of the page as displayed, in points."`
	Turned     int        `json:"turned" jsonschema:"required" jsonschema_description:"Clockwise rotation in degrees that turns the page upright."`
	Skew       float64    `json:"skew" jsonschema:"required" jsonschema_description:"Slope of the text lines in degrees."`
	Confidence float64    `json:"confidence" jsonschema:"required" jsonschema_description:"Average confidence of the words, from 0 to 100."`
	Text       string     `json:"text" jsonschema:"required" jsonschema_description:"Text in lines."`
	Words      []ReadWord `json:"words" jsonschema:"required" jsonschema_description:"Words in reading order."`
}

// ReadWord is a word on a page with its position.
type ReadWord struct {
	Text       string  `json:"text" jsonschema:"required" jsonschema_description:"The word."`
	X          float64 `json:"x" jsonschema:"required" jsonschema_description:"Left side of the word's box in points, from the left of the page as displayed."`
	Y          float64 `json:"y" jsonschema:"required" jsonschema_description:"Top of the word's box in points, from the top of the page."`
	Width      float64 `json:"width" jsonschema:"required" jsonschema_description:"Width of the word's box in points."`
	Height     float64 `json:"height" jsonschema:"required" jsonschema_description:"Height of the word's box in points."`
	Confidence float64 `json:"confidence" jsonschema:"required" jsonschema_description:"Confidence of the word, from 0 to 100."`
}

// TextLayer returns the words of a page's text layer at their displayed positions.
func TextLayer(ctx context.Context, d *Document, number int, size PageSize) (ReadPage, error) {
	n := strconv.Itoa(number)
	out, err := d.DrawPages(ctx, 1, engine.Program{Name: "pdftotext", MaxStdout: MaxTextBytes, Args: []string{
		"-q", "-bbox-layout", "-cropbox", "-enc", "UTF-8", "-f", n, "-l", n, engine.PathArg(d.Name), "-",
	}})
	if err != nil {
		return ReadPage{}, d.Damaged(err)
	}

	page := ReadPage{Page: number, Source: "text", Width: size.Width, Height: size.Height, Words: []ReadWord{}}
	if size.turn%180 != 0 {
		page.Width = size.Height
		page.Height = size.Width
	}

	var lines []string
	err = EachWord(out, func(word ReadWord, first bool) {
		page.Words = append(page.Words, word)
		if first || len(lines) == 0 {
			lines = append(lines, word.Text)
			return
		}
		lines[len(lines)-1] += " " + word.Text
	})
	if err != nil {
		return ReadPage{}, d.Fail(Damaged, err)
	}

	page.Text = strings.Join(lines, "\n")
	if len(page.Words) > 0 {
		page.Confidence = fullConfidence
	}
	return page, nil
}

// fullConfidence is the confidence of existing text.
const fullConfidence = 100

// EachWord calls do with the words of poppler's description of a page, and whether
// one is the first of its line.
func EachWord(description []byte, do func(word ReadWord, first bool)) error {
	decoder := xml.NewDecoder(bytes.NewReader(bytes.ToValidUTF8(description, []byte("\ufffd"))))
	// Letters of a font may have names that XML does not allow.
	decoder.Strict = false
	first := false
	for {
		token, err := decoder.RawToken()
		if token == nil {
			return nil // the rest cannot be read
		}
		if err != nil {
			return err
		}

		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "line" && start.Name.Local != "word" {
			continue
		}
		if start.Name.Local == "line" {
			first = true
			continue
		}

		word := ReadWord{Confidence: fullConfidence}
		sides := map[string]float64{}
		for _, a := range start.Attr {
			sides[a.Name.Local], _ = strconv.ParseFloat(a.Value, 64)
		}

		if text, ok := nextText(decoder); ok {
			word.Text = text
			word.X = Tenths(sides["xMin"])
			word.Y = Tenths(sides["yMin"])
			word.Width = Tenths(sides["xMax"] - sides["xMin"])
			word.Height = Tenths(sides["yMax"] - sides["yMin"])
			do(word, first)
			first = false
		}
	}
}

// nextText returns the text that follows an element's start.
func nextText(decoder *xml.Decoder) (string, bool) {
	token, err := decoder.RawToken()
	text, ok := token.(xml.CharData)
	trimmed := strings.TrimSpace(string(text))
	return trimmed, err == nil && ok && trimmed != ""
}

// Tenths rounds to tenths of a point.
func Tenths(v float64) float64 { return math.Round(v*10) / 10 }

// CountLetters returns the number of characters in a text without white space.
func CountLetters(text string) int { return len(strings.Join(strings.Fields(text), "")) }
