package pdf

import (
	"io"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// imposeSheets puts all pages of a PDF on sheets, in their order. It reads no
// configuration, and an input that makes pdfcpu panic is one that it refuses.
func imposeSheets(in io.ReadSeeker, out io.Writer, how sheetLayout) error {
	return guard.Try(func() error {
		api.DisableConfigDir()
		// A configuration belongs to one call, which changes it.
		conf := model.NewDefaultConfiguration()
		conf.Offline = true
		// The document's contents stay as they are: pdfcpu removes resources that seem
		// unused to it.
		conf.Optimize = false
		conf.OptimizeBeforeWriting = false
		conf.OptimizeResourceDicts = false
		conf.WriteObjectStream = false
		conf.WriteXRefStream = false

		sheet := &model.NUp{
			PageDim: &types.Dim{Width: how.width, Height: how.height}, UserDim: true,
			Grid:   &types.Dim{Width: float64(how.columns), Height: float64(how.rows)},
			Orient: model.RightDown, Border: how.border, Margin: how.margin,
		}
		if how.down {
			sheet.Orient = model.DownRight
		}

		doc, err := api.ReadContext(in, conf)
		if err != nil {
			return err
		}
		if err := doc.EnsurePageCount(); err != nil {
			return err
		}

		all := types.IntSet{}
		for n := range doc.PageCount {
			all[n+1] = true
		}
		if err := pdfcpu.NUpFromPDF(doc, all, sheet); err != nil {
			return err
		}

		return api.WriteContext(doc, out)
	})
}
