// Gives pages their links back, and tells fonts what their letters say where the content
// alone says it, beside what is drawn (/ActualText): the program that draws pages anew
// leaves that out. Browsers write figures of equal width so. It stands behind draw.js and
// fonts.js.

// mentions tells whether a text is in content, looking at as little of it as it can.
function mentions(b, text) {
	var n = text.length, skip = {}, i, k;
	for (i = 0; i < n - 1; i++) skip[text.charCodeAt(i)] = n - 1 - i;
	for (i = n - 1; i < b.length; i += skip[b[i]] || n) {
		for (k = 0; k < n && b[i - k] === text.charCodeAt(n - 1 - k); k++);
		if (k === n) return true;
	}
	return false;
}

// strings returns the bytes of the strings in a part of content.
function strings(b, from, to) {
	var found = [];
	for (var i = from; i < to;) {
		if (b[i] === 40) {
			var end = afterText(b, i);
			found.push(literal(b, i + 1, end - 1));
			i = end;
		} else if (b[i] === 60 && b[i + 1] !== 60) {
			var digits = "";
			for (i++; i < to && b[i] !== 62; i++) if (!isWhite(b[i])) digits += String.fromCharCode(b[i]);
			found.push(bytes(digits));
		} else i += b[i] === 60 ? 2 : 1;
	}
	return found;
}

function bytes(digits) {
	var out = [];
	for (var i = 0; i < digits.length; i += 2) out.push(parseInt((digits + "0").slice(i, i + 2), 16));
	return out;
}

var escapes = { n: 10, r: 13, t: 9, b: 8, f: 12 };

// literal reads what is between the parentheses of a string.
function literal(b, from, to) {
	var out = [];
	for (var i = from; i < to; i++) {
		if (b[i] !== 92) { out.push(b[i]); continue; }
		var c = String.fromCharCode(b[++i]);
		if (c >= "0" && c <= "7") {
			for (var n = 0, k = 0; k < 3 && b[i] >= 48 && b[i] <= 55; k++, i++) n = n * 8 + b[i] - 48;
			out.push(n & 255);
			i--;
		} else if (c === "\r" || c === "\n") { if (c === "\r" && b[i + 1] === 10) i++; }
		else out.push(escapes[c] || b[i]);
	}
	return out;
}

// utf16 returns the digits of a text of PDF in UTF-16, or null where it is in another
// encoding and has more than ASCII.
function utf16(text) {
	var out = "", i;
	if (text[0] === 254 && text[1] === 255) {
		for (i = 2; i + 1 < text.length; i += 2) out += hex(text[i], 2) + hex(text[i + 1], 2);
		return out;
	}
	for (i = 0; i < text.length; i++) {
		if (text[i] < 32 || text[i] > 126) return null;
		out += hex(text[i], 4);
	}
	return out;
}

// plain tells whether a meaning is one: letters for private use are none.
function plain(means) { return means !== undefined && means !== "" && !/^(E...|F[0-8]..|FFFD|0000)$/.test(means); }

// give tells a font what the only letter of a part of content says.
function give(f, code, means) {
	if (!f || means === null || means === "" || plain(f.says[code])) return;
	f.says[code] = means;
	f.changed = true;
}

// spans finds what content says beside single letters.
function spans(b, resources) {
	var known = resources && resources.isDictionary() ? resources.get("Font") : null;
	if (!known || !known.isDictionary() || !mentions(b, "/ActualText")) return;
	var font = null, kept = [], marks = [], from = 0, name = "", says = -1;
	function show(text) {
		for (var i = marks.length - 1; i >= 0; i--) if (marks[i]) {
			marks[i].font = font;
			marks[i].shown = marks[i].shown.concat(text.slice(0, 3 - Math.min(3, marks[i].shown.length)));
		}
	}
	eachWord(b, function (word, start, end) {
		if (word.charAt(0) === "/") {
			name = word.slice(1);
			if (name === "ActualText") says = end;
			return;
		}
		if (/^[-+.0-9]/.test(word) || word === "true" || word === "false" || word === "null") return;
		var i, found;
		switch (word) {
		case "q": if (kept.length < 1000) kept.push(font); break;
		case "Q": if (kept.length) font = kept.pop(); break;
		case "Tf": font = fontOf(known.get(name)); break;
		case "BMC": marks.push(null); break;
		case "BDC":
			found = says >= 0 ? strings(b, says, start) : [];
			marks.push(found.length ? { means: utf16(found[0]), shown: [], font: null } : null);
			break;
		case "EMC":
			var mark = marks.pop(), f = mark ? mark.font : null;
			if (f && mark.shown.length === f.size) give(f, f.size === 2 ? mark.shown[0] * 256 + mark.shown[1] : mark.shown[0], mark.means);
			break;
		case "Tj": case "TJ": case "'": case "\"":
			if (!marks.length) break;
			found = strings(b, from, start);
			for (i = 0; i < found.length; i++) show(found[i]);
		}
		from = end;
		says = -1;
	});
}

// own makes objects of the fonts of Resources, which can be given a meaning then.
function own(resources) {
	var all = resources && resources.isDictionary() ? has(resources, "Font") : null;
	if (all && all.isDictionary()) each(all, function (key) { if (all.get(key).isDictionary() && !all.get(key).isIndirect()) all.put(key, doc.addObject(all.get(key))); });
}

for (var i = 0; i < doc.countPages(); i++) {
	back(doc.findPage(i));
	own(attribute(doc.findPage(i), "Resources"));
	spans(content(doc.findPage(i)), attribute(doc.findPage(i), "Resources"));
}
for (i = 1; i < doc.countObjects(); i++) {
	var drawn = doc.newIndirect(i, 0), held = drawn.resolve();
	if (!held || !drawn.isStream() || String(held.get("Subtype")) !== "/Form") continue;
	own(held.get("Resources"));
	spans(drawn.readStream(), held.get("Resources"));
}
for (var key in fonts) if (fonts[key] && fonts[key].changed) tell(fonts[key]);
doc.save(args.output, "garbage=compact");
print("true");
