package barcode

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"strconv"
	"strings"
)

// drawSVG draws a symbol as SVG, in modules: a ground, one path for all modules,
// one for all letters. The text is the title, for those who cannot see the
// symbol.
func drawSVG(s *symbol, text string, f frame, dark, light color.NRGBA) ([]byte, error) {
	var out bytes.Buffer
	modules := func(pixels int) string {
		text := strings.TrimRight(strconv.FormatFloat(float64(pixels)/float64(f.pixels), 'f', 5, 64), "0")
		return strings.TrimSuffix(text, ".")
	}

	x, y, w, h := modules(-f.left), modules(-f.top), modules(f.width), modules(f.height)
	const head = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" ` +
		`viewBox="%s %s %s %s" role="img"><title>`
	fmt.Fprintf(&out, head, f.width, f.height, x, y, w, h)

	// Characters that XML does not have come out as U+FFFD.
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		return nil, err
	}
	out.WriteString("</title>")

	if light.A > 0 {
		fmt.Fprintf(&out, `<path %s d="M%s %sh%sv%sH%sz"/>`, svgFill(light), x, y, w, h, x)
	}
	fmt.Fprintf(&out, `<path %s shape-rendering="crispEdges" d="`, svgFill(dark))
	path := svgPath{out: out.AvailableBuffer()}
	path.modules(s)
	out.Write(path.out)
	out.WriteString(`"/>`)

	if len(s.labels) > 0 {
		fmt.Fprintf(&out, `<path %s d="`, svgFill(dark))
		path := svgPath{}
		for _, l := range s.labels {
			if err := l.draw(&path, 1, 0, 0); err != nil {
				return nil, err
			}
		}
		out.Write(path.out)
		out.WriteString(`"/>`)
	}

	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

// svgPath collects the data of a path.
type svgPath struct{ out []byte }

// modules draws each run of dark modules as a rectangle.
func (p *svgPath) modules(s *symbol) {
	y := s.quiet.top
	for _, r := range s.rows {
		for x := 0; x < len(r.dark); {
			n := runLength(r.dark[x:])
			if r.dark[x] {
				p.rectangle(s.quiet.left+x, y, n, r.height)
			}
			x += n
		}
		y += r.height
	}
}

func (p *svgPath) rectangle(x, y, w, h int) {
	p.out = append(p.out, 'M')
	p.out = strconv.AppendInt(p.out, int64(x), 10)
	p.out = append(p.out, ' ')
	p.out = strconv.AppendInt(p.out, int64(y), 10)
	p.out = append(p.out, 'h')
	p.out = strconv.AppendInt(p.out, int64(w), 10)
	p.out = append(p.out, 'v')
	p.out = strconv.AppendInt(p.out, int64(h), 10)
	p.out = append(p.out, 'h', '-')
	p.out = strconv.AppendInt(p.out, int64(w), 10)
	p.out = append(p.out, 'z')
}

// runLength returns how many modules at the beginning have one colour.
func runLength(dark []bool) int {
	n := 1
	for n < len(dark) && dark[n] == dark[0] {
		n++
	}
	return n
}

// MoveTo implements pen.
func (p *svgPath) MoveTo(x, y float32) { p.command('M', x, y) }

// LineTo implements pen.
func (p *svgPath) LineTo(x, y float32) { p.command('L', x, y) }

// QuadTo implements pen.
func (p *svgPath) QuadTo(cx, cy, x, y float32) { p.command('Q', cx, cy, x, y) }

// CubeTo implements pen.
func (p *svgPath) CubeTo(bx, by, cx, cy, x, y float32) { p.command('C', bx, by, cx, cy, x, y) }

// ClosePath implements pen.
func (p *svgPath) ClosePath() { p.out = append(p.out, 'Z') }

// command writes a letter and coordinates to a hundredth of a module, which is
// finer than a pixel at any scale.
func (p *svgPath) command(letter byte, coordinates ...float32) {
	p.out = append(p.out, letter)
	for i, c := range coordinates {
		if i > 0 {
			p.out = append(p.out, ' ')
		}

		hundredths := int64(c*100 + 0.5)
		p.out = strconv.AppendInt(p.out, hundredths/100, 10)
		if rest := hundredths % 100; rest != 0 {
			p.out = append(p.out, '.', byte('0'+rest/10))
			if rest%10 != 0 {
				p.out = append(p.out, byte('0'+rest%10))
			}
		}
	}
}
