// Draws pages of a PDF on pages of another, as forms. It stands behind draw.js; see overlayScript for the arguments.
var other = new PDFDocument(args.overlay), map = doc.newGraftMap(), forms = {};

// untag returns content whose marked content is not part of a structure: the names /MCID in it get another spelling.
function untag(data) {
	var from = [];
	eachWord(data, function (word, start) { if (word === "/MCID") from.push(start); });
	for (var i = 0; i < from.length; i++) data[from[i] + 1] = 88; // X
	return data;
}

// The overlay is an artifact, without parts of a structure.
for (var n = 1; n < other.countObjects(); n++) {
	var object = other.newIndirect(n, 0), held = object.resolve();
	if (!held || !held.isDictionary()) continue;
	drop(held, ["StructParents", "StructParent", "MCID"]);
	if (args.tagged && object.isStream() && String(held.get("Subtype")) === "Form") object.writeStream(untag(object.readStream()));
}

// standing returns the matrix from a page's own coordinates to points from its bottom left, as displayed.
function standing(page) {
	var m = upright(page).m, d = m[0] * m[3] - m[1] * m[2];
	return [m[3] / d, -m[1] / d, -m[2] / d, m[0] / d, (m[2] * m[5] - m[3] * m[4]) / d, (m[1] * m[4] - m[0] * m[5]) / d];
}

// overlay returns a page of the overlay, from 1, as a form with its size.
function overlay(number) {
	if (forms[number]) return forms[number];
	var page = other.findPage(number - 1), size = upright(page), entries = doc.newDictionary(), m = standing(page), matrix = doc.newArray();
	for (var i = 0; i < 6; i++) matrix.push(doc.newReal(m[i]));
	entries.put("Type", doc.newName("XObject"));
	entries.put("Subtype", doc.newName("Form"));
	entries.put("BBox", rectangle(shown(page)));
	entries.put("Matrix", matrix);
	var resources = attribute(page, "Resources"), group = has(page, "Group");
	entries.put("Resources", resources ? map.graftObject(resources) : doc.newDictionary());
	if (group) entries.put("Group", map.graftObject(group));
	var data = content(page);
	return forms[number] = { form: doc.addStream(args.tagged ? untag(data) : data, entries), w: size.w, h: size.h };
}

// place returns the matrix that puts a form on a page: in its centre and reduced to fit, or at its bottom.
function place(size, form) {
	var scale = Math.min(1, size.w / form.w, size.h / form.h);
	var y = args.edge ? Math.min(args.edge, size.h - form.h * scale) : (size.h - form.h * scale) / 2;
	return times([scale, 0, 0, scale, (size.w - form.w * scale) / 2, y], size.m);
}

var opening = doc.addStream("q\n", doc.newDictionary());

for (var i = 0; i < args.pages.length; i++) {
	var page = doc.findPage(args.pages[i].to - 1), form = overlay(args.pages[i].from);
	var resources = copy(attribute(page, "Resources")), objects = copy(resources.get("XObject")), name = "Overlay";
	for (var k = 1; has(objects, name); k++) name = "Overlay" + k;
	objects.put(name, form.form);
	resources.put("XObject", objects);
	page.put("Resources", resources);
	var call = doc.addStream((args.under ? "" : "\nQ\n") + "/Artifact BMC\nq " + numbers(place(upright(page), form)) + " cm /" + name + " Do Q\nEMC\n", doc.newDictionary());
	var old = page.get("Contents"), streams = doc.newArray();
	streams.push(args.under ? call : opening);
	if (old && old.isArray()) for (var j = 0; j < old.length; j++) streams.push(old.get(j));
	else if (old && old.isStream()) streams.push(old);
	if (!args.under) streams.push(call);
	page.put("Contents", streams);
}
// The layers of the overlay, for those of the result.
var layers = has(other.getTrailer().get("Root"), "OCProperties");
if (layers) doc.getTrailer().get("Root").put(args.layers, map.graftObject(layers));
doc.save(args.output, "");
print("true");
