package pdf

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

// textLayer returns the words of a page's text layer at their displayed positions.
func textLayer(ctx context.Context, d *document, number int, size size) (ReadPage, error) {
	n := strconv.Itoa(number)
	out, err := d.drawPages(ctx, 1, engine.Program{Name: "pdftotext", MaxStdout: maxTextBytes, Args: []string{
		"-q", "-bbox-layout", "-cropbox", "-enc", "UTF-8", "-f", n, "-l", n, engine.PathArg(d.name), "-",
	}})
	if err != nil {
		return ReadPage{}, d.damaged(err)
	}

	page := ReadPage{Page: number, Source: "text", Width: size.width, Height: size.height, Words: []ReadWord{}}
	if size.turn%180 != 0 {
		page.Width = size.height
		page.Height = size.width
	}

	var lines []string
	err = eachWord(out, func(word ReadWord, first bool) {
		page.Words = append(page.Words, word)
		if first || len(lines) == 0 {
			lines = append(lines, word.Text)
			return
		}
		lines[len(lines)-1] += " " + word.Text
	})
	if err != nil {
		return ReadPage{}, d.fail(Damaged, err)
	}

	page.Text = strings.Join(lines, "\n")
	if len(page.Words) > 0 {
		page.Confidence = fullConfidence
	}
	return page, nil
}

// fullConfidence is the confidence of existing text.
const fullConfidence = 100

// eachWord calls do with the words of poppler's description of a page, and whether
// one is the first of its line.
func eachWord(description []byte, do func(word ReadWord, first bool)) error {
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
			word.X = tenths(sides["xMin"])
			word.Y = tenths(sides["yMin"])
			word.Width = tenths(sides["xMax"] - sides["xMin"])
			word.Height = tenths(sides["yMax"] - sides["yMin"])
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

// tenths rounds to tenths of a point.
func tenths(v float64) float64 { return math.Round(v*10) / 10 }

// letters returns the number of characters in a text without white space.
func letters(text string) int { return len(strings.Join(strings.Fields(text), "")) }
