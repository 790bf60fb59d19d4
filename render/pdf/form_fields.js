// Prints the fields of a PDF's form as JSON, as its widgets have them: see
// rawField. runScript sets args.
var doc = new PDFDocument(args.input);
var maxDepth = 32, maxWidgets = 20000;
var widgets = [];

// text reads a string or a name; anything else has no text.
function text(o) {
	if (!o || o.isNull()) return null;
	if (o.isString()) return o.asString();
	if (o.isName()) return o.asName();
	if (o.isNumber()) return String(o.asNumber());
	if (o.isStream()) {
		var out = "", bytes = o.readStream();
		for (var i = 0; i < bytes.length; i++) out += String.fromCharCode(bytes[i]);
		return out;
	}
	return null;
}

// texts reads a string, or an array of them.
function texts(o) {
	var out = [];
	if (o && o.isArray()) {
		for (var i = 0; i < o.length; i++) {
			var t = text(o.get(i));
			if (t !== null) out.push(t);
		}
	} else if (text(o) !== null) out.push(text(o));
	return out;
}

// numbers reads an array of numbers. MuPDF has them in single precision, whose
// seven digits are kept: 578.872 is not 578.8720092773438.
function numbers(o) {
	var out = [];
	for (var i = 0; o && o.isArray() && i < o.length; i++) out.push(Number(o.get(i).asNumber().toPrecision(7)));
	return out;
}

// found returns an attribute of a field, or of the closest one above it.
function found(chain, key) {
	for (var i = chain.length - 1; i >= 0; i--) {
		var value = chain[i].get(key);
		if (value && !value.isNull()) return value;
	}
	return null;
}

// states returns what a button's appearance can show.
function states(widget) {
	var out = [], looks = widget.get("AP");
	looks = looks && looks.isDictionary() ? looks.get("N") : null;
	if (looks && looks.isDictionary() && !looks.isStream())
		looks.forEach(function (a, b) {
			var name = typeof a === "string" ? a : b; // their order differs between versions
			if (name !== "Off") out.push(name);
		});
	return out;
}

// drawn tells whether a widget has an appearance.
function drawn(widget) {
	var looks = widget.get("AP");
	looks = looks && looks.isDictionary() ? looks.get("N") : null;
	return !!(looks && (looks.isDictionary() || looks.isStream()));
}

// options returns what a choice offers, as [value, label].
function options(o) {
	var out = [];
	for (var i = 0; o && o.isArray() && i < o.length; i++) {
		var item = o.get(i);
		if (item.isArray()) out.push([text(item.get(0)) || "", text(item.get(1)) || ""]);
		else if (text(item) !== null) out.push([text(item), text(item)]);
	}
	return out;
}

// pagesOf maps the numbers of annotations' objects to their pages.
function pagesOf() {
	var pages = {};
	for (var i = 0; i < doc.countPages(); i++) {
		var annots = doc.findPage(i).get("Annots");
		for (var j = 0; annots && annots.isArray() && j < annots.length; j++) {
			var annot = annots.get(j);
			if (annot.isIndirect()) pages[annot.asIndirect()] = i + 1;
		}
	}
	return pages;
}
var pages = pagesOf();

// visit adds the widgets of a field and those below it.
function visit(field, above, name) {
	if (above.length > maxDepth || widgets.length >= maxWidgets || !field || !field.isDictionary()) return;
	var chain = above.concat([field]), part = text(field.get("T"));
	if (part !== null) name = name === "" ? part : name + "." + part;
	var kids = field.get("Kids");
	if (kids && kids.isArray() && kids.length > 0) {
		for (var i = 0; i < kids.length; i++) visit(kids.get(i), chain, name);
		return;
	}
	var flags = found(chain, "Ff"), longest = found(chain, "MaxLen"), signed = found(chain, "V");
	widgets.push({
		name: name, kind: text(found(chain, "FT")) || "", flags: flags && flags.isNumber() ? flags.asNumber() : 0,
		values: texts(signed), defaults: texts(found(chain, "DV")),
		states: states(field), options: options(found(chain, "Opt")),
		maxLength: longest && longest.isNumber() ? longest.asNumber() : 0,
		page: (field.isIndirect() && pages[field.asIndirect()]) || 0, rect: numbers(field.get("Rect")),
		signed: !!(signed && signed.isDictionary()), drawn: drawn(field)
	});
}

var form = doc.getTrailer().get("Root").get("AcroForm");
var fields = form && form.isDictionary() ? form.get("Fields") : null;
for (var i = 0; fields && fields.isArray() && i < fields.length; i++) visit(fields.get(i), [], "");
print(JSON.stringify(widgets));
