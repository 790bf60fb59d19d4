package office

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
)

// textFormats are the formats of text.
var textFormats = []Format{FormatText, FormatHTML, FormatMarkdown, FormatCSV}

// Decode returns a text file in UTF-8, if it begins with the byte order mark of UTF-16 or its server names another
// encoding than UTF-8. It returns nil for any other file.
func Decode(content engine.Content, name, charset string) ([]byte, error) {
	mark, err := io.ReadAll(io.LimitReader(content.Open(), 2))
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}

	if string(mark) == "\xff\xfe" || string(mark) == "\xfe\xff" {
		charset = "utf-16"
	}
	if charset == "" || strings.EqualFold(charset, "utf-8") {
		return nil, nil
	}

	// UTF-16 without a mark is of an unknown format.
	var unknown *Error
	source, err := Sniff(content.Open(), name)
	if err != nil && !errors.As(err, &unknown) || err == nil && !slices.Contains(textFormats, source.Format) {
		return nil, err
	}

	text, err := io.ReadAll(content.Open())
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	if decoded := toUTF8(text, "text/plain; charset="+charset); isText(decoded[:min(len(decoded), headSize)]) {
		return decoded, nil
	}
	return nil, nil
}

// PageText returns the text of a web page in UTF-8, by its byte order mark or the encoding that it declares.
func PageText(content []byte) string { return string(toUTF8(content, "text/html")) }
