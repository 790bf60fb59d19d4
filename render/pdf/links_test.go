package pdf

import (
	"fmt"
	"strings"
	"testing"
)

func TestMarks(t *testing.T) {
	m := newPageMarker()
	if m == newPageMarker() {
		t.Error("two marks are the same")
	}
	text := fmt.Sprintf("[ %s /Fit ] [ %s /XYZ ] %s", m.page(0), m.page(1), m.page(2))
	content := []byte(text)
	m.replace(content, []string{"7 0 R", "1234567 0 R"})
	if len(content) != len(text) || strings.Join(strings.Fields(string(content)), " ") != "[ 7 0 R /Fit ] [ 1234567 0 R /XYZ ] null" {
		t.Errorf("%s became %s", text, content)
	}
}
