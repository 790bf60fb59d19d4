// Writes down what is on the pages of a document, a file for each page: the words
// with their places and fonts, what is ruled, and links. See readPagesInput for the
// arguments.
var doc = new PDFDocument(args.input), linking = new PDFDocument(args.linked);
var mostWords = 100000, mostRules = 3000, mostLinks = 1000;

function tenth(v) { return Math.round(v * 10) / 10; }

// turnOf is by how many quarters a letter is turned clockwise; 4 is aslant.
function turnOf(q) {
	var x = q[2] - q[0], y = q[3] - q[1], slack = 0.1;
	if (x === 0 && y === 0) return 0;
	if (Math.abs(y) <= Math.abs(x) * slack) return x > 0 ? 0 : 2;
	if (Math.abs(x) <= Math.abs(y) * slack) return y > 0 ? 1 : 3;
	return 4;
}

// reversed tells letters of scripts that are read from right to left.
function reversed(c) {
	var n = c.charCodeAt(0);
	return n >= 0x590 && n <= 0x8ff || n >= 0xfb1d && n <= 0xfdff || n >= 0xfe70 && n <= 0xfeff;
}

// words are those of a page: what they say, their box, size, base line, kind, line
// and turn, and the places of letters where these are read from right to left.
function words(shown) {
	var found = [], word = null, line = 0, joined = false, fonts = {};
	function kind(font, name) {
		if (fonts[name] === undefined) fonts[name] = (font.isBold() || /bold|black|heavy|semib|demi/i.test(name) ? 1 : 0) | (font.isItalic() || /ital|obliq/i.test(name) ? 2 : 0) | (font.isMono() || /mono|courier|consol/i.test(name) ? 4 : 0);
		return fonts[name];
	}
	// space is where a space stands behind a word. Where the next letter is in its place, it
	// takes no room: browsers write soft hyphens so that are not needed.
	var space = null;
	function end() {
		space = null;
		if (word) {
			var w = word, out = [w.text, tenth(w.l), tenth(w.t), tenth(w.r), tenth(w.b), tenth(w.size), tenth(w.base), w.kind | (w.joined ? 8 : 0), line, w.turn];
			if (w.rtl) out.push(w.places);
			if (found.length < mostWords) found.push(out);
		}
		word = null;
	}
	shown.toStructuredText("preserve-whitespace").walk({
		beginLine: function () { line++; joined = false; },
		onChar: function (c, origin, font, size, q) {
			if (/^[\s\u0000-\u001f\u200b\ufeff]/.test(c)) {
				if (word && !space) space = origin;
				else { end(); joined = false; }
				return;
			}
			if (space && Math.abs(space[0] - origin[0]) + Math.abs(space[1] - origin[1]) > 0.02 * Math.abs(size)) { end(); joined = false; }
			space = null;
			var k = kind(font, font.getName()), turn = turnOf(q), base = turn & 1 ? origin[0] : origin[1], s = Math.max(0.1, Math.abs(size));
			var l = Math.min(q[0], q[2], q[4], q[6]), r = Math.max(q[0], q[2], q[4], q[6]), t = Math.min(q[1], q[3], q[5], q[7]), b = Math.max(q[1], q[3], q[5], q[7]);
			if (word && (word.kind !== k || word.turn !== turn || Math.abs(word.size - s) > 0.1 * s || Math.abs(word.base - base) > 0.1 * s || word.text.length > 500)) end();
			if (!word) word = { text: "", l: l, t: t, r: r, b: b, size: s, base: base, kind: k, turn: turn, joined: joined, places: [] };
			joined = true;
			word.text += c;
			word.places.push(tenth(l));
			if (reversed(c)) word.rtl = true;
			word.l = Math.min(word.l, l); word.t = Math.min(word.t, t); word.r = Math.max(word.r, r); word.b = Math.max(word.b, b);
		},
		endLine: end
	});
	return found;
}

// ruled are level and upright lines, however they are drawn: as their left, top, right
// and bottom; and spots as large as the bullets of lists.
function ruled(shown, bounds) {
	var rules = [], dots = [], area = Math.max(1, (bounds[2] - bounds[0]) * (bounds[3] - bounds[1])), pictured = 0, drawn = false;
	function image(m) {
		drawn = true;
		pictured = Math.max(pictured, Math.abs(m[0] * m[3] - m[1] * m[2]) / area);
	}
	function rule(l, t, r, b) {
		if (rules.length < mostRules) rules.push([tenth(l), tenth(t), tenth(r), tenth(b)]);
	}
	function white(color, alpha) {
		if (alpha < 0.05) return true;
		if (!color || !color.length || color.length === 2) return false;
		for (var i = 0; i < color.length; i++) if (color.length === 4 ? color[i] > 0.02 : color[i] < 0.98) return false;
		return true;
	}
	function walk(path, m, part, straight) {
		var x0 = 0, y0 = 0, x = 0, y = 0, box = null, count = 0, curved = false;
		function at(px, py) { return [m[0] * px + m[2] * py + m[4], m[1] * px + m[3] * py + m[5]]; }
		function grow(px, py) {
			if (!box) box = [px, py, px, py];
			box = [Math.min(box[0], px), Math.min(box[1], py), Math.max(box[2], px), Math.max(box[3], py)];
		}
		function done() { if (box && count) part(box, count, curved); box = null; count = 0; curved = false; }
		function line(px, py) {
			straight(x, y, px, py);
			x = px; y = py; count++;
			grow(x, y);
		}
		path.walk({
			moveTo: function (px, py) { done(); var p = at(px, py); x = x0 = p[0]; y = y0 = p[1]; grow(x, y); },
			lineTo: function (px, py) { var p = at(px, py); line(p[0], p[1]); },
			curveTo: function (ax, ay, bx, by, cx, cy) {
				var a = at(ax, ay), b = at(bx, by), c = at(cx, cy);
				grow(a[0], a[1]); grow(b[0], b[1]); grow(c[0], c[1]);
				x = c[0]; y = c[1]; count++; curved = true;
			},
			closePath: function () { if (x !== x0 || y !== y0) line(x0, y0); }
		});
		done();
	}
	function dot(box) {
		var w = box[2] - box[0], h = box[3] - box[1];
		if (w > 1.5 && w < 9 && h > 1.5 && h < 9 && w < h * 1.5 && h < w * 1.5 && dots.length < mostRules) dots.push([tenth(box[0]), tenth(box[1]), tenth(box[2]), tenth(box[3])]);
	}
	shown.run({
		fillImage: function (picture, m) { image(m); },
		fillImageMask: function (picture, m) { image(m); },
		fillPath: function (path, even, m, space, color, alpha) {
			if (white(color, alpha)) return;
			drawn = true;
			walk(path, m, function (box, count, curved) {
				var w = box[2] - box[0], h = box[3] - box[1];
				if (!curved && count <= 5 && (h <= 3 && w > 4 || w <= 3 && h > 4)) {
					if (w > h) rule(box[0], (box[1] + box[3]) / 2, box[2], (box[1] + box[3]) / 2);
					else rule((box[0] + box[2]) / 2, box[1], (box[0] + box[2]) / 2, box[3]);
				} else dot(box);
			}, function () {});
		},
		strokePath: function (path, stroke, m, space, color, alpha) {
			if (white(color, alpha)) return;
			walk(path, m, function (box, count, curved) { if (curved) dot(box); }, function (ax, ay, bx, by) {
				if (Math.abs(ay - by) < 0.5 && Math.abs(ax - bx) > 4) rule(Math.min(ax, bx), (ay + by) / 2, Math.max(ax, bx), (ay + by) / 2);
				else if (Math.abs(ax - bx) < 0.5 && Math.abs(ay - by) > 4) rule((ax + bx) / 2, Math.min(ay, by), (ax + bx) / 2, Math.max(ay, by));
			});
		}
	}, Identity);
	return { rules: rules, dots: dots, pictured: pictured, drawn: drawn };
}

function links(page) {
	var found = [], all = page.getLinks();
	for (var i = 0; i < all.length && found.length < mostLinks; i++) {
		var uri = String(all[i].uri), b = all[i].bounds;
		if (/^(https?:|mailto:)/i.test(uri) && uri.length < 2000) found.push({ url: uri, box: [tenth(b[0]), tenth(b[1]), tenth(b[2]), tenth(b[3])] });
	}
	return found;
}

function describe(number) {
	var page = doc.loadPage(number - 1), bounds = page.bound(), shown = page.toDisplayList(), drawn = { rules: [], dots: [], pictured: 0, drawn: true }, linked = [];
	try { drawn = ruled(shown, bounds); } catch (e) {} // what is drawn matters less than what is said
	try { linked = links(linking.loadPage(number - 1)); } catch (e) {}
	return { box: bounds, words: words(shown), rules: drawn.rules, dots: drawn.dots, links: linked, pictured: drawn.pictured, drawn: drawn.drawn };
}

for (var i = 0; i < args.pages.length; i++) {
	var out = new Buffer(), described = {};
	try { described = describe(args.pages[i]); } catch (e) { described = { failed: String(e) }; }
	out.write(JSON.stringify(described));
	out.save(args.output + args.pages[i] + ".json");
}
print("true");
