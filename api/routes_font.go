package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render/font"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store"
)

// fontQuery asks for families.
type fontQuery struct {
	listQuery

	Search string `json:"search,omitempty" in:"query" jsonschema:"maxLength=100,example=sans" jsonschema_description:"Filter by text in the family name. Case is ignored."`
}

func (a *API) listFonts(_ context.Context, _ call.Caller, in fontQuery) (wire.FontList, error) {
	answer := wire.FontList{Fonts: []wire.Font{}}
	if a.Render == nil {
		return answer, &wire.Error{
			Code: wire.ConvertUnavailable, RetryAfter: call.WithoutRenderer,
			Message: "The font list is unavailable on this server. Retry in 5 seconds.",
		}
	}

	after, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err != nil {
		return answer, wire.Invalid("cursor", "must be the nextCursor of an earlier page")
	}

	limit := cmp.Or(in.Limit, store.DefaultList)
	families := a.Render.Fonts()
	if in.Cursor != "" {
		at := slices.IndexFunc(families, func(f font.Family) bool { return f.Name == string(after) })
		if at < 0 {
			return answer, wire.Invalid("cursor", "must be the nextCursor of an earlier page")
		}
		families = families[at+1:]
	}

	for _, family := range families {
		if !strings.Contains(strings.ToLower(family.Name), strings.ToLower(in.Search)) {
			continue
		}
		if len(answer.Fonts) == limit {
			answer.NextCursor = wire.OrNull(base64.RawURLEncoding.EncodeToString([]byte(answer.Fonts[limit-1].Family)))
			break
		}
		answer.Fonts = append(answer.Fonts, wire.Font{
			Family: family.Name, Styles: family.Styles, AliasOf: wire.OrNull(family.AliasOf),
		})
	}
	return answer, nil
}
