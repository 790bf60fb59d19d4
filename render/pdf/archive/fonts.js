// What fonts say of their codes (/ToUnicode). It stands behind draw.js.

function hex(n, digits) { return ("000" + n.toString(16).toUpperCase()).slice(-digits); }

var fonts = {};

// fontOf returns what a font says of its codes, or null where that cannot be mended.
function fontOf(o) {
	if (!o || !o.isDictionary() || !o.isIndirect()) return null;
	var key = String(o);
	if (fonts[key] !== undefined) return fonts[key];
	var composite = String(o.get("Subtype")) === "/Type0", tells = o.get("ToUnicode"), f = { object: o, size: composite ? 2 : 1, says: {}, changed: false };
	fonts[key] = null;
	if (composite && !/^\/Identity-[HV]$/.test(String(o.get("Encoding")))) return null;
	if (tells && tells.isStream()) {
		if (!learn(f.says, tells.readStream())) return null;
	} else if (!composite) return null; // its encoding tells
	return fonts[key] = f;
}

// learn reads what codes mean.
function learn(says, b) {
	var text = "", i, k, room = 70000;
	if (b.length > 2000000) return false;
	for (i = 0; i < b.length; i++) text += String.fromCharCode(b[i]);
	if (text.indexOf("usecmap") >= 0) return false;
	var parts = text.split(/beginbf/);
	for (i = 1; i < parts.length; i++) {
		var range = parts[i].slice(0, 5) === "range", list = parts[i].split("endbf")[0].match(/<[^>]*>|[\[\]]/g) || [];
		for (k = 0; k + 1 < list.length;) {
			var low = parseInt(list[k].slice(1), 16), high = range ? parseInt(list[k + 1].slice(1), 16) : low;
			k += range ? 2 : 1;
			if (!(low >= 0 && high <= 65535) || k >= list.length) break;
			if (list[k] === "[") {
				for (k++; k < list.length && list[k] !== "]"; k++, low++) if (low <= high) says[low] = digitsOf(list[k]);
				k++;
				continue;
			}
			var means = digitsOf(list[k++]), last = parseInt(means.slice(-4), 16);
			for (var n = 0; low + n <= high; n++) {
				if (room-- < 0) return false;
				says[low + n] = n ? means.slice(0, -4) + hex(last + n & 65535, 4) : means;
			}
		}
	}
	return true;
}

function digitsOf(token) { return token.slice(1, -1).replace(/\s/g, "").toUpperCase(); }

// tell writes down what codes mean.
function tell(f) {
	var out = new Buffer(), codes = Object.keys(f.says), digits = f.size * 2;
	out.write("/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n" +
		"/CMapName /Adobe-Identity-UCS def /CMapType 2 def\n1 begincodespacerange\n<" + hex(0, digits) + "> <" + "FFFF".slice(0, digits) + ">\nendcodespacerange\n");
	for (var i = 0; i < codes.length; i++) {
		if (i % 100 === 0) out.write(Math.min(100, codes.length - i) + " beginbfchar\n");
		out.write("<" + hex(+codes[i], digits) + "> <" + f.says[codes[i]] + ">\n");
		if (i % 100 === 99 || i === codes.length - 1) out.write("endbfchar\n");
	}
	out.write("endcmap CMapName currentdict /CMap defineresource pop end end\n");
	f.object.put("ToUnicode", doc.addStream(out, doc.newDictionary()));
}
