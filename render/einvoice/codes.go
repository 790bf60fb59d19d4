package einvoice

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed codes.txt
var codesTable string

// codes are the code lists by their name in codes.txt.
var codes = sync.OnceValue(func() map[string]map[string]bool {
	lists := map[string]map[string]bool{}
	for line := range strings.Lines(codesTable) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		list := map[string]bool{}
		for _, code := range words[1:] {
			list[code] = true
		}
		lists[words[0]] = list
	}
	return lists
})

// attachmentTypes are the MIME types that attachments can have.
var attachmentTypes = []string{
	"application/pdf", "image/png", "image/jpeg", "text/csv",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"application/vnd.oasis.opendocument.spreadsheet",
}

// validIBAN reports whether an IBAN has the right form and check digits.
func validIBAN(account string) bool {
	compact := AccountID(account).compact()
	if !ibanPattern.MatchString(compact) {
		return false
	}

	rest := 0
	for _, c := range strings.ToUpper(compact[4:] + compact[:4]) {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}

	return rest == 1
}
