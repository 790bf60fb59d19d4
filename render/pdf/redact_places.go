package pdf

import (
	"crypto/sha256"
	"fmt"
	"strconv"

	"relaypdf/render/pdffile"
)

// places walks over the drawn objects of pages with their positions: images, and painted outlines.
type places struct {
	*pdffile.File

	// image gets the hashes of an image and of its masks, and the rectangle around it.
	image func(hashes []string, at box)
	// path gets the rectangle around a painted outline, and whether the outline is just an upright rectangle.
	path   func(at box, plain bool)
	hashes map[string][]string
	steps  int
}

// maxSteps bounds how much is walked over: forms may draw forms many times.
const maxSteps = 20_000_000

// page walks over a page.
func (p *places) page(page pdffile.Page) error {
	content, err := (&scrubber{File: p.File}).content(page.Entries["/Contents"])
	if err != nil {
		return err
	}
	return p.content(content, p.resources(page.Entries), affine{1, 0, 0, 1, 0, 0}, 0)
}

// resources returns the resources of a page, including inherited ones.
func (p *places) resources(node pdffile.Dict) pdffile.Dict {
	for depth := 0; node["/Resources"] == nil && node["/Parent"] != nil && depth < pdffile.MaxDepth; depth++ {
		node = p.Entry(node["/Parent"])
	}
	return p.Entry(node["/Resources"])
}

// pen is the current outline, with the transformation of coordinates to the page's.
type pen struct {
	matrix  affine
	around  box
	points  int
	upright bool
}

func (n *pen) to(x, y float64) {
	x, y = n.matrix.at(x, y)
	if n.points == 0 {
		n.around = box{x, y, x, y}
	}
	n.around = box{min(n.around[0], x), min(n.around[1], y), max(n.around[2], x), max(n.around[3], y)}
	n.points++
}

// content walks over content.
func (p *places) content(content []byte, resources pdffile.Dict, matrix affine, depth int) (err error) {
	n, saved := pen{matrix: matrix, upright: true}, []affine{}
	objects := p.Entry(resources["/XObject"])
	pdffile.ReadContent(content, func(op pdffile.Operation) {
		if p.steps++; p.steps > maxSteps && err == nil {
			err = fmt.Errorf("more than %d operations", maxSteps)
		}
		if err != nil {
			return
		}
		v := numbersOf(op.Operands)
		switch op.Operator {
		case "q":
			saved = append(saved, n.matrix)
		case "Q":
			if len(saved) > 0 {
				n.matrix, saved = saved[len(saved)-1], saved[:len(saved)-1]
			}
		case "cm":
			if len(v) == 6 {
				n.matrix = affine(v).then(n.matrix)
			}
		case "Do":
			if len(op.Operands) > 0 {
				name, _ := op.Operands[len(op.Operands)-1].(string)
				err = p.object(objects[name], resources, n.matrix, depth)
			}
		case "BI":
			p.draw([]string{hash(op.Image)}, n.matrix)
		default:
			p.outline(&n, op.Operator, v)
		}
	})
	return err
}

// outline walks over the operators of outlines.
func (p *places) outline(n *pen, operator string, v []float64) {
	switch operator {
	case "m", "l", "c", "v", "y":
		for i := 0; i+1 < len(v); i += 2 {
			n.to(v[i], v[i+1])
		}
		n.upright = false
	case "re":
		if len(v) == 4 {
			n.to(v[0], v[1])
			n.to(v[0]+v[2], v[1])
			n.to(v[0], v[1]+v[3])
			n.to(v[0]+v[2], v[1]+v[3])
			n.upright = n.upright && n.points == 4 && (n.matrix[1] == 0 && n.matrix[2] == 0 || n.matrix[0] == 0 && n.matrix[3] == 0)
		}
	case "S", "s", "f", "F", "f*", "B", "B*", "b", "b*":
		if n.points > 0 && p.path != nil {
			p.path(n.around, n.upright)
		}
		n.points, n.upright = 0, true
	case "n":
		n.points, n.upright = 0, true
	}
}

func (p *places) draw(hashes []string, matrix affine) {
	if p.image != nil {
		p.image(hashes, matrix.around(0, 0, 1, 1))
	}
}

// object walks over a drawn image or form.
func (p *places) object(v any, above pdffile.Dict, matrix affine, depth int) error {
	ref := pdffile.Reference(v)
	entries := p.Entry(v)
	switch {
	case ref == "" || entries == nil || depth > pdffile.MaxDepth:
		return nil
	case entries["/Subtype"] == "/Image":
		p.draw(p.imageHashes(ref), matrix)
		return nil
	}
	content, err := (&scrubber{File: p.File}).content(ref)
	if err != nil {
		return err
	}
	if m := floats(p.Target(entries["/Matrix"])); len(m) == 6 {
		matrix = affine(m).then(matrix)
	}
	resources := p.Entry(entries["/Resources"])
	if resources == nil {
		resources = above
	}
	return p.content(content, resources, matrix, depth+1)
}

// imageHashes returns the hashes of the data of an image and of its masks.
func (p *places) imageHashes(ref string) []string {
	if known, ok := p.hashes[ref]; ok {
		return known
	}
	var all []string
	if stream, ok := p.Stream(ref); ok {
		plain, _, err := plainStream(p.File, stream)
		if err != nil {
			plain = stream.Content
		}
		all = append(all, hash(plain))
		for _, key := range []string{"/SMask", "/Mask"} {
			if mask := pdffile.Reference(stream.Entries[key]); mask != "" && mask != ref && p.Entry(mask)["/Subtype"] == "/Image" {
				if stream, ok := p.Stream(mask); ok {
					if plain, _, err := plainStream(p.File, stream); err == nil {
						all = append(all, hash(plain))
					}
				}
			}
		}
	}
	if p.hashes == nil {
		p.hashes = map[string][]string{}
	}
	p.hashes[ref] = all
	return all
}

// hash identifies the data of an image. Images of a few bytes have no identity.
func hash(data []byte) string {
	const fewest = 16
	if len(data) < fewest {
		return ""
	}
	sum := sha256.Sum256(data)
	return string(sum[:])
}

// numbersOf are operands that are numbers.
func numbersOf(operands []any) (all []float64) {
	for _, v := range operands {
		if n, ok := v.(pdffile.Number); ok {
			value, _ := strconv.ParseFloat(string(n), 64) // readers treat an invalid number as 0
			all = append(all, value)
		}
	}
	return all
}

func floats(v any) (all []float64) {
	list, _ := v.([]any)
	for _, item := range list {
		n, _ := item.(float64)
		all = append(all, n)
	}
	return all
}

func (b box) touches(other box) bool {
	return b[0] < other[2] && other[0] < b[2] && b[1] < other[3] && other[1] < b[3]
}

// redactedPlaces are the rectangles that go, by page: areas, and letters.
type redactedPlaces map[int][]box

// places returns the redacted places on the pages of an opened document.
func (r *redaction) places(f *pdffile.File, pages []pdffile.Page, found looked) redactedPlaces {
	all := redactedPlaces{}
	for number, here := range found.pages {
		room := floats(f.Target(pages[number-1].Entries["/MediaBox"]))
		if len(room) != 4 {
			continue
		}
		for _, q := range here.cores {
			b := box{q[0], q[1], q[0], q[1]}
			for i := 2; i < cornerNumbers; i += 2 {
				b = box{min(b[0], q[i]), min(b[1], q[i+1]), max(b[2], q[i]), max(b[3], q[i+1])}
			}
			all[number] = append(all[number], box{b[0] + room[0], room[3] - b[3], b[2] + room[0], room[3] - b[1]})
		}
	}
	for _, a := range r.args.Areas {
		all[a.Page] = append(all[a.Page], r.areaBox(a, 0))
	}
	return all
}

// areaBox returns an area in the coordinates of its page, reduced by an edge in points.
func (r *redaction) areaBox(a RedactArea, edge float64) box {
	p := r.papers[a.Page]
	w, h := (p.box[2]-p.box[0])*p.unit, (p.box[3]-p.box[1])*p.unit
	if p.turn%180 != 0 {
		w, h = h, w
	}
	return box(p.square().around((a.X+edge)/w, 1-(a.Y+a.Height-edge)/h, (a.X+a.Width-edge)/w, 1-(a.Y+edge)/h))
}

// readPages reads a file of the job's folder and its pages.
func (r *redaction) readPages(name string) (*pdffile.File, []pdffile.Page, error) {
	f, err := (&document{work: r.work, name: name}).readSelf()
	if err != nil {
		return nil, nil, r.fail(Damaged, err)
	}
	pages, err := f.Pages(MaxPages)
	if err == nil && len(pages) != r.pages {
		err = fmt.Errorf("%d of %d pages can be read", len(pages), r.pages)
	}
	if err != nil {
		return nil, nil, r.fail(Damaged, err)
	}
	return f, pages, nil
}

// touchedImages returns the images of an opened document that contain redacted areas, and all redacted places.
func (r *redaction) touchedImages(open string, found looked) (touched map[string]bool, gone redactedPlaces, err error) {
	f, pages, err := r.readPages(open)
	if err != nil {
		return nil, nil, err
	}
	gone, touched = r.places(f, pages, found), map[string]bool{}
	p := &places{File: f}
	for number, boxes := range gone {
		p.image = func(hashes []string, at box) {
			for _, b := range boxes {
				if !b.touches(at) {
					continue
				}
				for _, h := range hashes {
					if h != "" {
						touched[h] = true
					}
				}
			}
		}
		if err := p.page(pages[number-1]); err != nil {
			return nil, nil, r.fail(Damaged, err)
		}
	}
	return touched, gone, nil
}

// leftImages returns the pages of the result that still contain an image with redacted areas, or an invisible one.
func (r *redaction) leftImages() (left []int, err error) {
	if len(r.touched) == 0 {
		return nil, nil
	}
	f, pages, err := r.readPages(r.name)
	if err != nil {
		return nil, err
	}
	s := &structure{File: f}
	p := &places{File: f}
	for i, page := range pages {
		shown := s.paper(page.Entries).box
		p.image = func(hashes []string, at box) {
			const least = 2 // points
			seen, ok := shown.and(at)
			ok = ok && seen[2]-seen[0] > least && seen[3]-seen[1] > least
			for _, b := range r.gone[i+1] {
				ok = ok && !b.touches(at)
			}
			for _, h := range hashes {
				if r.touched[h] && !ok {
					left = append(left, i+1)
				}
			}
		}
		if err := p.page(page); err != nil {
			return nil, r.fail(Damaged, err)
		}
	}
	return unique(left), nil
}

// outlined returns the pages on which outlines are painted in an area, seen or not: in a
// layer that is hidden, or white on white.
func (r *redaction) outlined(bare string) (left []int, err error) {
	numbers := r.emptied()
	if len(numbers) == 0 {
		return nil, nil
	}
	f, pages, err := r.readPages(bare)
	if err != nil {
		return nil, err
	}
	const edge, mostPlain = 1, 16
	p := &places{File: f}
	for _, number := range numbers {
		drawn, plain := 0, 0
		p.path = func(at box, isPlain bool) {
			for _, a := range r.args.Areas {
				if a.Page != number || a.Width <= 2*edge || a.Height <= 2*edge {
					continue
				}
				b := r.areaBox(a, edge)
				covers := at[0] <= b[0] && at[1] <= b[1] && at[2] >= b[2] && at[3] >= b[3]
				switch {
				case !grown(at).touches(b) || isPlain && covers:
				case isPlain:
					plain++
				default:
					drawn++
				}
			}
		}
		if err := p.page(pages[number-1]); err != nil {
			return nil, r.fail(Damaged, err)
		}
		if drawn > 0 || plain > mostPlain {
			left = append(left, number)
		}
	}
	return left, nil
}

// grown returns a rectangle that is not empty for a line.
func grown(b box) box {
	const hair = 0.01
	return box{b[0] - hair, b[1] - hair, b[2] + hair, b[3] + hair}
}
